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

constexpr uint64_t kMostInShape = 1 << 20;
constexpr size_t kShapeWords = 4;     ///< layers, width, heads, length
constexpr size_t kFirstOfShape = 10;  ///< number of words before them
constexpr size_t kLlamaWords = 5;     ///< form, heads of keys and values, hidden width, epsilon, rotary base
constexpr size_t kFirstOfLlama = 16;
constexpr size_t kVocabularyWord = 21;
constexpr size_t kTokenizerWord = 23;

/// What only models of Llama's form have; false if it makes no sense.
bool read_llama(std::span<const uint64_t> words, Config& config) {
  config.form = static_cast<Form>(words[0]);
  config.key_value_heads = static_cast<Index>(words[1]);
  config.hidden = static_cast<Index>(words[2]);
  config.epsilon = std::bit_cast<float>(static_cast<uint32_t>(words[3]));
  config.rotary_base = std::bit_cast<float>(static_cast<uint32_t>(words[4]));
  if (config.form == Form::gpt2) return true;
  return config.form == Form::llama && words[1] > 0 && words[1] <= kMostInShape && words[2] > 0 &&
         words[2] <= kMostInShape && config.heads % config.key_value_heads == 0 &&
         config.width / config.heads % 2 == 0 && config.epsilon > 0 && config.rotary_base > 0;
}

}  // namespace

uint64_t checksum_of(const TokenizerFiles& files) {
  std::vector<uint64_t> sums;
  for (const TokenizerFile& file : files)
    sums.push_back(checkpoint::checksum(file.content.data(), file.content.size()));
  return checkpoint::checksum(sums.data(), sums.size() * sizeof(uint64_t));
}

namespace {

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
          number(text.size()),
          checksum_of(text),
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
          code_of_products(settings),
          static_cast<uint64_t>(settings.config.form),
          number(settings.config.key_value_heads),
          number(settings.config.hidden),
          bits(settings.config.epsilon),
          bits(settings.config.rotary_base),
          number(settings.config.vocabulary),
          settings.separator ? *settings.separator + uint64_t{1} : 0,
          settings.tokenizer_files != nullptr ? checksum_of(*settings.tokenizer_files) : 0};
}

uint64_t checksum_of(const Text& text) {
  std::vector<uint64_t> sums;
  for (const std::span<const uint8_t> bytes : text.stored())
    sums.push_back(checkpoint::checksum(bytes.data(), bytes.size()));
  return sums.size() == 1 ? sums.front() : checkpoint::checksum(sums.data(), sums.size() * sizeof(uint64_t));
}

std::string changed_words(std::span<const uint64_t> before, std::span<const uint64_t> now) {
  enum class Shown : uint8_t { number, real, hidden };
  constexpr std::pair<std::string_view, Shown> kNames[] = {
      {"seed", Shown::number},
      {"batch", Shown::number},
      {"length of the text", Shown::number},
      {"text", Shown::hidden},
      {"number of steps", Shown::number},
      {"learning rate", Shown::real},
      {"warm-up", Shown::number},
      {"weight decay", Shown::real},
      {"clip", Shown::real},
      {"precision", Shown::hidden},
      {"", Shown::hidden},
      {"", Shown::hidden},
      {"", Shown::hidden},
      {"", Shown::hidden},
      {"order of sums", Shown::hidden},
      {"instruction set, or release of oneDNN", Shown::hidden},
      {"", Shown::hidden},
      {"", Shown::hidden},
      {"", Shown::hidden},
      {"epsilon of norms", Shown::real},
      {"base of the rotary embedding", Shown::real},
      {"", Shown::hidden},
      {"separation of documents", Shown::hidden},
      {"tokenizer", Shown::hidden}};
  const auto shown = [](Shown form, uint64_t word) {
    return form == Shown::real ? fmt::format("{:g}", std::bit_cast<float>(static_cast<uint32_t>(word)))
                               : fmt::format("{}", word);
  };
  std::string changed;
  for (size_t at = 0; at < std::min({before.size(), now.size(), std::size(kNames)}); ++at) {
    const auto& [name, form] = kNames[at];
    if (before[at] == now[at] || name.empty()) continue;  // the shape is compared elsewhere
    changed += fmt::format("{}{}", changed.empty() ? "" : ", ", name);
    if (form != Shown::hidden)
      changed += fmt::format(" ({}, now {})", shown(form, before[at]), shown(form, now[at]));
  }
  return changed;
}

uint64_t tokenizer_in(std::span<const uint64_t> words) {
  return words.size() > kTokenizerWord ? words[kTokenizerWord] : 0;
}

std::optional<Config> config_in(std::span<const uint64_t> words) {
  if (words.size() < kFirstOfShape + kShapeWords) return std::nullopt;
  const auto shape = words.subspan(kFirstOfShape, kShapeWords);
  if (std::ranges::any_of(shape, [](uint64_t word) { return word == 0 || word > kMostInShape; }) ||
      shape[1] % shape[2] != 0)
    return std::nullopt;
  const auto number = [](uint64_t word) { return static_cast<Index>(word); };
  Config config{.name = "of the checkpoint",
                .layers = number(shape[0]),
                .width = number(shape[1]),
                .heads = number(shape[2]),
                .length = number(shape[3])};
  if (words.size() >= kFirstOfLlama + kLlamaWords &&
      !read_llama(words.subspan(kFirstOfLlama, kLlamaWords), config))
    return std::nullopt;
  if (words.size() > kVocabularyWord) {
    if (words[kVocabularyWord] == 0 || words[kVocabularyWord] > kMostInShape) return std::nullopt;
    config.vocabulary = number(words[kVocabularyWord]);
  }
  return config;
}

}  // namespace weir::trainer
