// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace weir::trainer::plan {
namespace {

constexpr double kAlike = 1.005;
constexpr int kLargestBatch = 1024;  ///< sequences, if any number may be chosen
constexpr std::array kRecomputations = {Recompute::none, Recompute::selective, Recompute::full};
constexpr std::array kPrefetches = {1, 2, 4};
constexpr std::array<Limiter, 4> kLimiters = {
    Limiter{Limiter::Kind::off, 0, 0}, Limiter{Limiter::Kind::sliding, 2, 0},
    Limiter{Limiter::Kind::sliding, 3, 0}, Limiter{Limiter::Kind::block, 4, 0}};

/// 1, 2, 3, 4, 6, 8, 12, ..., and `largest`.
std::vector<int> sizes_up_to(int largest) {
  std::vector<int> sizes;
  for (int size = 1; size < largest; size *= 2) {
    sizes.push_back(size);
    if (size > 1 && size + size / 2 < largest) sizes.push_back(size + size / 2);
  }
  sizes.push_back(largest);
  return sizes;
}

/// Shard group sizes for HYBRID_SHARD: even parts of a node, and 1, 2, 4, ... nodes.
std::vector<int> shard_groups(const Cluster& cluster) {
  const int gpus = static_cast<int>(cluster.gpus);
  const int nodes = static_cast<int>(cluster.nodes);
  std::vector<int> groups;
  for (int part = 2; part < gpus; ++part)
    if (gpus % part == 0) groups.push_back(part);
  for (int group = 1; group < nodes && nodes % group == 0; group *= 2)
    if (gpus * group > 1) groups.push_back(gpus * group);
  return groups;
}

/// The value of the constraints, or else all candidates.
template <typename T, typename All>
std::vector<T> those(const std::optional<T>& wished, const All& all) {
  return wished ? std::vector<T>{*wished} : std::vector<T>(all.begin(), all.end());
}

class Search {
 public:
  Search(const Model& model, const Cluster& cluster, const PlanConstraints& constraints)
      : model_(model), cluster_(cluster), constraints_(constraints) {}

  Result<Ranking> run() {
    for (const Strategy strategy : {Strategy::no_shard, Strategy::shard_grad_op, Strategy::full_shard})
      if (constraints_.strategy.value_or(strategy) == strategy) WEIR_TRY(enter(strategy, 0));
    if (constraints_.strategy.value_or(Strategy::hybrid_shard) == Strategy::hybrid_shard)
      for (const int shard : those(constraints_.shard, shard_groups(cluster_)))
        WEIR_TRY(enter(Strategy::hybrid_shard, shard));
    if (ranking_.results.empty())
      return Status(Code::invalid_argument,
                    fmt::format("{} nodes of {} GPUs cannot be divided into shard groups for {}",
                                cluster_.nodes, cluster_.gpus, name(Strategy::hybrid_shard)));
    sort();
    if (!ranking_.first().best)
      return Status(
          Code::invalid_usage,
          fmt::format("{} does not fit into the memory of {} nodes of {} GPUs: the smallest plan {}",
                      model_.name, cluster_.nodes, cluster_.gpus, least_sentence_));
    return std::move(ranking_);
  }

 private:
  static double rate(const StrategyResult& result) {
    return result.best ? result.best->prediction.tokens_per_second : 0;
  }

  /// Sorts by tokens per second; among strategies that are about as fast as the fastest, the one that needs
  /// the least memory comes first.
  void sort() {
    std::vector<StrategyResult>& results = ranking_.results;
    std::stable_sort(results.begin(), results.end(),
                     [](const StrategyResult& a, const StrategyResult& b) { return rate(a) > rate(b); });
    if (!results.front().best) return;
    auto first = results.begin();
    for (auto it = results.begin(); it != results.end() && rate(*it) * kAlike >= rate(results.front()); ++it)
      if (it->best->prediction.memory.total() < first->best->prediction.memory.total()) first = it;
    std::rotate(results.begin(), first, first + 1);
  }

  Status enter(Strategy strategy, int shard) {
    fitting_.clear();
    refused_.clear();
    refused_bytes_ = 0;
    for (const Recompute recompute : those(constraints_.recompute, kRecomputations))
      for (const int prefetch : those(constraints_.prefetch, kPrefetches))
        for (const Limiter& limiter : those(constraints_.limiter, kLimiters)) {
          const Job job{strategy, shard, 1, 1, recompute, prefetch, limiter, constraints_.speed};
          if (is_double(job)) continue;
          WEIR_TRY(try_batches(job));
        }
    StrategyResult result{strategy, shard, std::nullopt, refused_};
    if (!fitting_.empty()) result.best = best();
    ranking_.results.push_back(std::move(result));
    return {};
  }

  /// Whether a job runs exactly as another one that is tried.
  bool is_double(const Job& job) const {
    const bool gathers_again = job.strategy == Strategy::full_shard || job.strategy == Strategy::hybrid_shard;
    const bool any_limiter = !constraints_.limiter;
    if (any_limiter && !gathers_again && job.limiter.kind != Limiter::Kind::off) return true;
    if (!constraints_.prefetch && job.strategy == Strategy::no_shard && job.prefetch != kPrefetches.front())
      return true;
    // A window at least as large as the prefetch depth never limits anything.
    return any_limiter && job.limiter.kind == Limiter::Kind::sliding &&
           job.limiter.gathers >= job.prefetch + 1;
  }

  Status try_batches(Job job) {
    const auto sizes = sizes_up_to(constraints_.batch > 0 ? constraints_.batch : kLargestBatch);
    for (const int size : those(constraints_.micro_batch, sizes)) {
      job.micro_batches = constraints_.batch > 0 ? (constraints_.batch + size - 1) / size : 1;
      const bool evens_out = constraints_.batch > 0 && !constraints_.micro_batch;
      job.micro_batch = evens_out ? (constraints_.batch + job.micro_batches - 1) / job.micro_batches : size;
      const auto least = least_memory(job);
      WEIR_TRY(least.status());
      if (!fits(*least)) break;  // larger ones do not fit either
      auto prediction = predict(model_, cluster_, job);
      WEIR_TRY(prediction.status());
      ++ranking_.tried;
      if (constraints_.memory) prediction->memory = *least;
      if (!fits(prediction->memory)) continue;
      if (constraints_.batch > 0) count_real(job, *prediction);
      fitting_.push_back({job, *prediction});
    }
    return {};
  }

  /// The memory that a job needs at least, known before its schedule is computed.
  Result<Memory> least_memory(const Job& job) const {
    if (constraints_.memory) return constraints_.memory(job);
    const auto groups = groups_of(job.strategy, cluster_, job.shard);
    WEIR_TRY(groups.status());
    Memory least;
    least.states = state_bytes(model_, cluster_, *groups);
    least.activations = activation_bytes(model_, cluster_, job.recompute, job.micro_batch);
    return least;
  }

  /// The last micro-batch may be smaller. It is charged the time of a full one, but only its own tokens
  /// count.
  void count_real(const Job& job, Prediction& prediction) const {
    const double part = static_cast<double>(constraints_.batch) / (job.micro_batch * job.micro_batches);
    prediction.tokens_per_second *= part;
    prediction.model_flops *= part;
    prediction.mfu *= part;
  }

  /// Keeps the message of the rejected job that needs the least memory.
  bool fits(const Memory& memory) {
    const Status status = check_memory(cluster_, memory);
    if (status.ok()) return true;
    if (refused_.empty() || memory.total() < refused_bytes_) {
      refused_ = status.message();
      refused_bytes_ = memory.total();
    }
    if (least_sentence_.empty() || memory.total() < least_bytes_) {
      least_sentence_ = status.message();
      least_bytes_ = memory.total();
    }
    return false;
  }

  Choice best() const {
    const auto rate = [](const Choice& choice) { return choice.prediction.tokens_per_second; };
    double quickest = 0;
    for (const Choice& choice : fitting_) quickest = std::max(quickest, rate(choice));
    const Choice* best = nullptr;
    for (const Choice& choice : fitting_)
      if (rate(choice) * kAlike >= quickest &&
          (best == nullptr || choice.prediction.memory.total() < best->prediction.memory.total()))
        best = &choice;
    return *best;
  }

  const Model& model_;
  const Cluster& cluster_;
  const PlanConstraints& constraints_;
  Ranking ranking_;
  std::vector<Choice> fitting_;  ///< choices that fit, for the strategy that is being tried
  std::string refused_;
  double refused_bytes_ = 0;
  std::string least_sentence_;
  double least_bytes_ = 0;
};

std::string label(const StrategyResult& result) {
  std::string text(name(result.strategy));
  if (result.strategy == Strategy::hybrid_shard) text += fmt::format(" in groups of {}", result.shard);
  return text;
}

/// Busy time of the links that are busy longest, in seconds.
double busy_seconds(const Timeline& line) { return std::max(line.inside_seconds, line.between_seconds); }

std::string share(const Timeline& line) {
  return fmt::format("{:.1f}% of its step is exposed", 100 * line.exposed_seconds() / line.seconds);
}

}  // namespace

Result<Ranking> choose(const Model& model, const Cluster& cluster, const PlanConstraints& constraints) {
  return Search(model, cluster, constraints).run();
}

std::string reason(const Ranking& ranking, const Model& model) {
  const StrategyResult& first = ranking.first();
  const Prediction& ours = first.best->prediction;
  const double tokens = first.best->job.micro_batch * model.sequence;
  std::string text = fmt::format(
      "{}: links are busy for {:.3g} s of a step. Hiding that takes {:.0f} tokens per GPU and micro-batch; "
      "there are {:.0f}; {}.",
      label(first), busy_seconds(ours.line), ours.hiding_tokens, tokens, share(ours.line));
  if (ranking.results.size() < 2) return text;
  const StrategyResult& second = ranking.results[1];
  if (!second.best) return text + " No other strategy fits into memory.";
  const Prediction& theirs = second.best->prediction;
  const double times = ours.tokens_per_second / theirs.tokens_per_second;
  if (times < kAlike)
    return text +
           fmt::format(
               " The runner-up, {}, is as fast within {:.1f}% and needs {:.1f} GB instead of {:.1f} GB.",
               label(second), 100 * (kAlike - 1), theirs.memory.total() / 1e9, ours.memory.total() / 1e9);
  return text +
         fmt::format(
             " The runner-up, {}, takes {:.3f} times as long per token: its links are busy for {:.3g} s, {}.",
             label(second), times, busy_seconds(theirs.line), share(theirs.line));
}

}  // namespace weir::trainer::plan
