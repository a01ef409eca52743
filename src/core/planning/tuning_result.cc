// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/tuning_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/cost/filter.h"
#include "src/base/log.h"
#include "src/core/bootstrap/bootstrap.h"
#include "src/core/planning/selector.h"

namespace weir::core {
namespace {

using drivers::TunedAlgorithm;
using drivers::TunedCosts;
using drivers::TunedFunction;
using drivers::TunedProtocol;

struct Tuned {
  Collective kind;
  TunedFunction function;
};
constexpr Tuned kTuned[] = {{Collective::all_reduce, TunedFunction::all_reduce},
                            {Collective::all_gather, TunedFunction::all_gather},
                            {Collective::reduce_scatter, TunedFunction::reduce_scatter},
                            {Collective::broadcast, TunedFunction::broadcast},
                            {Collective::reduce, TunedFunction::reduce}};

/// NCCL's algorithms that weir has plans for. Shm collectives count as NCCL_PROTO's LL (docs/plugins.md).
struct Family {
  TunedAlgorithm algorithm;
  std::string_view word;
};
constexpr Family kFamilies[] = {
    {TunedAlgorithm::tree, "tree"}, {TunedAlgorithm::ring, "ring"}, {TunedAlgorithm::pat, "pat"}};

cost::Estimate best_of(std::string_view family, const cost::CostTable& table, size_t bytes) {
  cost::Estimate best;
  for (const std::string_view algorithm : cost::algorithms_like(family)) {
    const cost::Estimate one = table.estimate(algorithm, bytes);
    if (one.entry != nullptr && (best.entry == nullptr || one.seconds < best.seconds)) best = one;
  }
  return best;
}

float us_of(double seconds) { return static_cast<float>(seconds * 1e6); }

TunedCosts costs_for(const cost::CostTable& table, size_t bytes, bool exchanged) {
  TunedCosts costs;
  for (const Family& family : kFamilies) {
    const cost::Estimate best = best_of(family.word, table, bytes);
    if (best.entry != nullptr) costs.at(family.algorithm, TunedProtocol::simple) = us_of(best.seconds);
  }
  if (exchanged) {
    double least = table.seconds("one_shot", bytes);
    const double other = table.seconds("two_shot", bytes);
    if (other >= 0 && (least < 0 || other < least)) least = other;
    if (least >= 0) costs.at(TunedAlgorithm::tree, TunedProtocol::ll) = us_of(least);
  }
  return costs;
}

/// The combination that the plugin made the cheapest; empty if it left none.
std::optional<std::pair<TunedAlgorithm, TunedProtocol>> cheapest(const TunedCosts& costs) {
  std::optional<std::pair<TunedAlgorithm, TunedProtocol>> best;
  float least = 0;
  for (size_t a = 0; a < costs.us.size(); ++a) {
    for (size_t p = 0; p < costs.us[a].size(); ++p) {
      const float us = costs.us[a][p];
      if (!(us >= 0) || (best && us >= least)) continue;
      best = {static_cast<TunedAlgorithm>(a), static_cast<TunedProtocol>(p)};
      least = us;
    }
  }
  return best;
}

/// Asks one plugin, and collects notes on answers that cannot be followed.
class Interview {
 public:
  Interview(drivers::Tuner& tuner, Selector& selector) : tuner_(tuner), selector_(selector) {}

  TuningResult::Answer answer(const Tuned& tuned, size_t bytes, bool exchanged) {
    constexpr int kMostRings = 64;
    const cost::CostTable& table = selector_.table(tuned.kind);
    const bool gathers = tuned.kind == Collective::all_gather || tuned.kind == Collective::reduce_scatter;
    const auto ranks = static_cast<size_t>(selector_.environment().ranks());
    const TunedCosts offered = costs_for(table, bytes, exchanged);
    TunedCosts costs = offered;
    int channels = 0;
    const size_t told_bytes = bytes * (gathers ? ranks : 1);
    const Status status = tuner_.ask(tuned.function, told_bytes, costs, channels);
    if (!status.ok()) {
      note(status.message());
      return {};
    }
    const auto rings = static_cast<uint8_t>(std::clamp(channels, 0, kMostRings));
    const Question question{tuned, table, bytes, told_bytes, rings};
    if (costs == offered) return exchanged ? TuningResult::Answer{.rings = rings} : own_with_chunks(question);
    const auto wanted = cheapest(costs);
    if (!wanted) return {};
    const auto [algorithm, protocol] = *wanted;
    if (!(TunedCosts(offered).at(algorithm, protocol) >= 0)) {
      note(fmt::format("it chose {} with {} for {}, which this communicator does not have", name(algorithm),
                       name(protocol), name(tuned.kind)));
      return {};
    }
    if (protocol == TunedProtocol::ll) return {.way = TuningResult::Way::exchange};
    const auto* const family = std::ranges::find(kFamilies, algorithm, &Family::algorithm);
    const cost::Estimate best = best_of(family->word, table, bytes);
    return {.way = TuningResult::Way::plan,
            .tile_divisor = static_cast<uint8_t>(divisor(question, best, algorithm)),
            .rings = rings,
            .entry = number_of(*best.entry)};
  }

  void log_notes() const {
    for (const auto& [text, times] : notes_)
      WEIR_INFO(init, "TUNER/Plugin: {}: {}; ignoring its answer for {} sizes", tuner_.plugin_name(), text,
                times);
  }

 private:
  /// What the plugin is asked about.
  struct Question {
    const Tuned& tuned;
    const cost::CostTable& table;
    size_t bytes;       ///< of a block
    size_t told_bytes;  ///< as NCCL counts
    uint8_t rings;
  };

  void note(const std::string& text) { ++notes_[text]; }
  static uint8_t number_of(const algorithms::Entry& entry) {
    return static_cast<uint8_t>(&entry - algorithms::catalogue().data());
  }

  /// Weir's own choice, in the chunks that the plugin wants.
  TuningResult::Answer own_with_chunks(const Question& question) {
    TuningResult::Answer own{.rings = question.rings};
    const cost::Estimate& best = question.table.at(question.bytes).best;
    if (best.entry == nullptr) return own;
    for (const Family& family : kFamilies) {
      const cost::Names alike = cost::algorithms_like(family.word);
      if (std::ranges::find(alike, best.entry->algorithm) == alike.end()) continue;
      const int wanted = divisor(question, best, family.algorithm);
      if (wanted == (is_over_new_rings(question, best) ? 1 : best.tile_divisor)) return own;
      return {.way = TuningResult::Way::plan,
              .tile_divisor = static_cast<uint8_t>(wanted),
              .rings = question.rings,
              .entry = number_of(*best.entry)};
    }
    return own;
  }

  static bool is_over_new_rings(const Question& question, const cost::Estimate& best) {
    const std::string_view name = best.entry->algorithm;
    return question.rings > 0 && (name == "ring" || name == "ring_set");
  }

  /// Into how many parts the tiles of a plan are divided, so that none is larger than the plugin wants.
  int divisor(const Question& question, const cost::Estimate& best, TunedAlgorithm algorithm) {
    constexpr size_t kMost = 255;
    const int own = is_over_new_rings(question, best) ? 1 : best.tile_divisor;
    const size_t whole = question.table.tile_bytes(best.entry->algorithm);
    const size_t offered = whole / static_cast<size_t>(own);
    size_t chunk = offered;
    const Status status = tuner_.ask_chunk(question.tuned.function, question.told_bytes, algorithm,
                                           TunedProtocol::simple, std::max<int>(question.rings, 1), chunk);
    if (!status.ok()) note(status.message());
    if (!status.ok() || chunk == offered || chunk == 0) return own;
    return static_cast<int>(std::clamp((whole + chunk - 1) / chunk, size_t{1}, kMost));
  }

  drivers::Tuner& tuner_;
  Selector& selector_;
  std::map<std::string, int> notes_;
};

std::string words_of(const TuningResult::Answer& answer) {
  std::string words = answer.way == TuningResult::Way::own ? "as predicted"
                      : answer.way == TuningResult::Way::exchange
                          ? "exchange"
                          : std::string(algorithms::catalogue()[answer.entry].algorithm);
  if (answer.tile_divisor > 1) words += fmt::format(" in tiles of 1/{}", answer.tile_divisor);
  if (answer.rings > 0) words += fmt::format(", {} channels", answer.rings);
  return words;
}

}  // namespace

TuningResult TuningResult::of(drivers::Tuner& tuner, Selector& selector,
                              const std::bitset<kCollectives>& exchanged) {
  static_assert(sizeof(Answer) == 4);
  TuningResult tuning_result;
  Interview interview(tuner, selector);
  for (const Tuned& tuned : kTuned) {
    const auto kind = static_cast<size_t>(tuned.kind);
    Answer before;
    for (size_t c = 1; c < kClasses; ++c) {
      const size_t bytes = size_t{1} << (c - 1);
      const Answer answer = interview.answer(tuned, bytes, exchanged[kind]);
      tuning_result.answers_[kind][c] = answer;
      if (answer != before) {
        WEIR_INFO(tuning, "TUNER/Plugin: {}: {} from {} bytes: {}", tuner.plugin_name(), name(tuned.kind),
                  bytes, words_of(answer));
      }
      before = answer;
    }
  }
  interview.log_notes();
  return tuning_result;
}

Bytes TuningResult::encode() const { return ByteWriter().put(answers_).take(); }

Result<TuningResult> TuningResult::decode(BytesView bytes) {
  TuningResult tuning_result;
  if (bytes.size() != sizeof(tuning_result.answers_))
    return Status(Code::remote_error, fmt::format("rank 0 sent {} bytes of a tuning result; expected {}",
                                                  bytes.size(), sizeof(tuning_result.answers_)));
  ByteReader reader(bytes);
  tuning_result.answers_ = reader.get<decltype(tuning_result.answers_)>();
  for (size_t kind = 0; kind < kCollectives; ++kind) {
    for (const Answer& answer : tuning_result.answers_[kind]) {
      const bool known = answer.way <= Way::plan && answer.tile_divisor > 0 &&
                         (answer.way != Way::plan ||
                          (answer.entry < algorithms::catalogue().size() &&
                           algorithms::catalogue()[answer.entry].kind == static_cast<Collective>(kind)));
      if (!known)
        return Status(Code::remote_error,
                      "rank 0 sent a tuning result that this version does not know; expected the same "
                      "version of weir on all ranks");
    }
  }
  return tuning_result;
}

std::unique_ptr<drivers::Tuner> tuner_for(const Options& options, const Bootstrap& bootstrap) {
  std::map<uint64_t, int> ranks_on;
  for (const PeerAddress& peer : bootstrap.peers()) ++ranks_on[peer.host];
  const auto [least, most] =
      std::ranges::minmax_element(ranks_on, {}, &decltype(ranks_on)::value_type::second);
  auto tuner = drivers::Tuner::load({.plugin = options.tuner_plugin,
                                     .net_plugins = options.net_plugins,
                                     .communicator = bootstrap.uid(),
                                     .ranks = static_cast<size_t>(bootstrap.size()),
                                     .nodes = ranks_on.size(),
                                     .least_ranks_per_node = least->second,
                                     .most_ranks_per_node = most->second});
  if (tuner.ok()) return std::move(*tuner);
  WEIR_WARN("{}; algorithms are chosen without it", tuner.status().message());
  return nullptr;
}

}  // namespace weir::core
