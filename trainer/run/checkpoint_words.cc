// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/checkpoint_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include "trainer/checkpoint/checksum.h"
#include "trainer/math/products.h"

namespace weir::trainer {
namespace {

constexpr size_t kShapeWords = 4;     ///< layers, width, heads, length
constexpr size_t kFirstOfShape = 10;  ///< number of words before them

/// What computes matrix products: this code of the CPU, or a GPU.
uint64_t code_of_products(const Settings& settings) {
  const std::string code = settings.sharding.gpu != nullptr ? "GPU" : products_code();
  return checkpoint::checksum(code.data(), code.size());
}

}  // namespace

std::vector<uint64_t> checkpoint_words(const Settings& settings, const Text& text) {
  const auto bits = [](float value) { return uint64_t{std::bit_cast<uint32_t>(value)}; };
  const auto number = [](Index value) { return static_cast<uint64_t>(value); };
  return {settings.seed,
          number(settings.batch),
          text.bytes().size(),
          checkpoint::checksum(text.bytes().data(), text.bytes().size()),
          number(settings.steps),
          bits(settings.learning_rate),
          number(settings.warm_up),
          bits(settings.weight_decay),
          bits(settings.clip),
          static_cast<uint64_t>(settings.precision),
          number(settings.config.layers),
          number(settings.config.width),
          number(settings.config.heads),
          number(settings.config.length),
          settings.canonical ? 1U : 0U,
          code_of_products(settings)};
}

std::string changed_words(std::span<const uint64_t> before, std::span<const uint64_t> now) {
  enum class Form : uint8_t { number, real, hidden };
  constexpr std::pair<std::string_view, Form> kNames[] = {
      {"seed", Form::number},
      {"batch", Form::number},
      {"length of the text", Form::number},
      {"text", Form::hidden},
      {"number of steps", Form::number},
      {"learning rate", Form::real},
      {"warm-up", Form::number},
      {"weight decay", Form::real},
      {"clip", Form::real},
      {"precision", Form::hidden},
      {"", Form::hidden},
      {"", Form::hidden},
      {"", Form::hidden},
      {"", Form::hidden},
      {"order of sums", Form::hidden},
      {"instruction set, or release of oneDNN", Form::hidden}};
  const auto shown = [](Form form, uint64_t word) {
    return form == Form::real ? fmt::format("{:g}", std::bit_cast<float>(static_cast<uint32_t>(word)))
                              : fmt::format("{}", word);
  };
  std::string changed;
  for (size_t at = 0; at < std::min({before.size(), now.size(), std::size(kNames)}); ++at) {
    const auto& [name, form] = kNames[at];
    if (before[at] == now[at] || name.empty()) continue;  // the shape is compared elsewhere
    changed += fmt::format("{}{}", changed.empty() ? "" : ", ", name);
    if (form != Form::hidden)
      changed += fmt::format(" ({}, now {})", shown(form, before[at]), shown(form, now[at]));
  }
  return changed;
}

std::optional<Config> config_in(std::span<const uint64_t> words) {
  constexpr uint64_t kMost = 1 << 20;
  if (words.size() < kFirstOfShape + kShapeWords) return std::nullopt;
  const auto shape = words.subspan(kFirstOfShape, kShapeWords);
  if (std::ranges::any_of(shape, [](uint64_t word) { return word == 0 || word > kMost; }) ||
      shape[1] % shape[2] != 0)
    return std::nullopt;
  const auto number = [](uint64_t word) { return static_cast<Index>(word); };
  return Config{.name = "of the checkpoint",
                .layers = number(shape[0]),
                .width = number(shape[1]),
                .heads = number(shape[2]),
                .length = number(shape[3])};
}

}  // namespace weir::trainer
