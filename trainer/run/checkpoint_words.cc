// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/checkpoint_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <string_view>

#include "trainer/checkpoint/checksum.h"
#include "trainer/math/products.h"
#include "trainer/run/fragments.h"

namespace weir::trainer {
namespace {

constexpr uint64_t kMostInShape = 1 << 20;
constexpr size_t kShapeWords = 4;     ///< layers, width, heads, length
constexpr size_t kFirstOfShape = 10;  ///< number of words before them
constexpr size_t kLlamaWords = 5;     ///< form, heads of keys and values, hidden width, epsilon, rotary base
constexpr size_t kFirstOfLlama = 16;
constexpr size_t kVocabularyWord = 21;
constexpr size_t kTokenizerWord = 23;
constexpr size_t kOptimizerWord = 26;
constexpr size_t kScalingWords = 4;  ///< original length, factor, slow, fast
constexpr size_t kFirstOfScaling = 30;
constexpr size_t kFragmentsWord = 34;
constexpr size_t kDelayWord = 35;
constexpr size_t kTiedWord = 37;

float float_in(uint64_t word) { return std::bit_cast<float>(static_cast<uint32_t>(word)); }

/// False if it makes no sense.
bool read_scaling(std::span<const uint64_t> words, RotaryScaling& scaling) {
  scaling = {static_cast<Index>(words[0]), float_in(words[1]), float_in(words[2]), float_in(words[3])};
  return words[0] <= kMostInShape && scaling.factor > 0 && scaling.slow > 0 && scaling.fast > scaling.slow;
}

/// What only models of Llama's form have; false if it makes no sense.
bool read_llama(std::span<const uint64_t> words, Config& config) {
  config.form = static_cast<Form>(words[0]);
  config.key_value_heads = static_cast<Index>(words[1]);
  config.hidden = static_cast<Index>(words[2]);
  config.epsilon = float_in(words[3]);
  config.rotary_base = float_in(words[4]);
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
          settings.tokenizer_files != nullptr ? checksum_of(*settings.tokenizer_files) : 0,
          static_cast<uint64_t>(settings.sharding.gather),
          static_cast<uint64_t>(settings.sharding.reduce),
          static_cast<uint64_t>(settings.optimizer),
          number(settings.local_steps),
          bits(settings.outer_learning_rate),
          bits(settings.outer_momentum),
          number(settings.config.rotary_scaling.original_length),
          bits(settings.config.rotary_scaling.factor),
          bits(settings.config.rotary_scaling.slow),
          bits(settings.config.rotary_scaling.fast),
          number(settings.outer_fragments),
          number(outer_delay_of(settings)),
          bits(settings.outer_mix),
          settings.config.tied ? 1U : 0U};
}

uint64_t checksum_of(const Text& text) {
  std::vector<uint64_t> sums;
  for (const std::span<const uint8_t> bytes : text.stored())
    sums.push_back(checkpoint::checksum(bytes.data(), bytes.size()));
  return sums.size() == 1 ? sums.front() : checkpoint::checksum(sums.data(), sums.size() * sizeof(uint64_t));
}

namespace {

enum class Notation : uint8_t { number, real, precision, canonical, optimizer, hidden };
enum class Change : uint8_t {
  elsewhere,  ///< found elsewhere: of a model of another shape nothing can be loaded
  usual,      ///< of a run that goes on elsewhere or for longer: a note says so
  option,     ///< only if --allow-changes names the option
  never,      ///< the parameters would mean another model
};

struct Word {
  std::string_view name;
  Notation notation = Notation::hidden;
  Change change = Change::elsewhere;
};

constexpr Word kWords[] = {{"seed", Notation::number, Change::option},
                           {"batch", Notation::number, Change::option},
                           {"data", Notation::hidden, Change::option},
                           {"data", Notation::hidden, Change::option},
                           {"steps", Notation::number, Change::usual},
                           {"learning-rate", Notation::real, Change::option},
                           {"warm-up", Notation::number, Change::option},
                           {"weight-decay", Notation::real, Change::option},
                           {"clip", Notation::real, Change::option},
                           {"precision", Notation::precision, Change::option},
                           {},
                           {},
                           {},
                           {},
                           {"deterministic", Notation::canonical, Change::option},
                           {"code of matrix products", Notation::hidden, Change::usual},
                           {},
                           {},
                           {},
                           {"epsilon of the model's norms", Notation::real, Change::never},
                           {"base of the rotary embedding", Notation::real, Change::never},
                           {},
                           {"separate-documents", Notation::hidden, Change::option},
                           {"tokenizer", Notation::hidden, Change::never},
                           {"gather", Notation::hidden, Change::option},
                           {"reduce", Notation::hidden, Change::option},
                           {"optimizer", Notation::optimizer, Change::never},
                           {"local-steps", Notation::number, Change::option},
                           {"outer-learning-rate", Notation::real, Change::option},
                           {"outer-momentum", Notation::real, Change::option},
                           {"scaling of the rotary embedding", Notation::hidden, Change::never},
                           {"scaling of the rotary embedding", Notation::hidden, Change::never},
                           {"scaling of the rotary embedding", Notation::hidden, Change::never},
                           {"scaling of the rotary embedding", Notation::hidden, Change::never},
                           {"outer-fragments", Notation::number, Change::option},
                           {"outer-delay", Notation::number, Change::option},
                           {"outer-mix", Notation::real, Change::option},
                           {}};

std::string shown(Notation form, uint64_t word) {
  switch (form) {
    case Notation::real: return fmt::format("{:g}", float_in(word));
    case Notation::precision: return word == 0 ? "fp32" : "bf16";
    case Notation::canonical: return word == 0 ? "run" : "canonical";
    case Notation::optimizer: return word == 0 ? "adamw" : "muon";
    default: return fmt::format("{}", word);
  }
}

}  // namespace

std::vector<std::string> changeable_options() {
  std::vector<std::string> names;
  for (const Word& word : kWords)
    if (word.change == Change::option && (names.empty() || names.back() != word.name))
      names.emplace_back(word.name);
  return names;
}

Result<std::string> compare_words(std::span<const uint64_t> before, std::span<const uint64_t> now,
                                  std::span<const std::string> allowed) {
  std::vector<std::string> noted, refused, missing;
  const auto was = [&](size_t at) {
    if (at < before.size()) return before[at];
    switch (at) {  // what earlier versions had
      case kOptimizerWord: return uint64_t{0};
      case kFragmentsWord: return uint64_t{1};
      case kDelayWord: return uint64_t{0};
      default: return now[at];
    }
  };
  for (size_t at = 0; at < std::min(now.size(), std::size(kWords)); ++at) {
    const auto& [name, form, change] = kWords[at];
    if (was(at) == now[at] || change == Change::elsewhere) continue;
    if (at == kTokenizerWord && was(at) == 0) continue;  // it only shows the tokens, which are the same
    std::string words = fmt::format("{}{}", change == Change::option ? "--" : "", name);
    if (form != Notation::hidden)
      words += fmt::format(" ({}, now {})", shown(form, was(at)), shown(form, now[at]));
    const bool taken = change == Change::usual ||
                       (change == Change::option && std::ranges::find(allowed, name) != allowed.end());
    std::vector<std::string>& list = taken ? noted : refused;
    if (!list.empty() && list.back() == words) continue;  // length and checksum of one text
    list.push_back(std::move(words));
    if (!taken && change == Change::option) missing.emplace_back(name);
  }
  if (refused.empty()) return fmt::format("{}", fmt::join(noted, ", "));
  const bool can_be_allowed = missing.size() == refused.size();
  return Status(Code::invalid_argument,
                fmt::format("with another {}; expected the same{}", fmt::join(refused, ", "),
                            can_be_allowed ? fmt::format(", or --allow-changes {} if the change is intended",
                                                         fmt::join(missing, ","))
                                           : ""));
}

uint64_t tokenizer_in(std::span<const uint64_t> words) {
  return words.size() > kTokenizerWord ? words[kTokenizerWord] : 0;
}

Optimizer optimizer_in(std::span<const uint64_t> words) {
  const bool is_muon = words.size() > kOptimizerWord && words[kOptimizerWord] != 0;
  return is_muon ? Optimizer::muon : Optimizer::adamw;
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
  config.tied = words.size() > kTiedWord && words[kTiedWord] != 0;
  if (words.size() >= kFirstOfScaling + kScalingWords &&
      !read_scaling(words.subspan(kFirstOfScaling, kScalingWords), config.rotary_scaling))
    return std::nullopt;
  return config;
}

}  // namespace weir::trainer
