// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "trainer/plan/parts.h"

namespace weir::trainer::plan {
namespace {

constexpr double kAlike = 1.005;
constexpr int kLargestBatch = 1024;  ///< sequences, if any number may be chosen
constexpr std::array kStrategies = {Strategy::no_shard, Strategy::shard_grad_op, Strategy::full_shard,
                                    Strategy::hybrid_shard, Strategy::hpz};
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

/// Group sizes of a strategy. HYBRID_SHARD: even parts of a node, and 1, 2, 4, ... nodes. HPZ: a node,
/// because secondary copies are for links inside. Others: 0.
std::vector<int> group_sizes(Strategy strategy, const Cluster& cluster) {
  if (!has_groups(strategy)) return {0};
  const auto [gpus, nodes] = std::pair(cluster.gpus, cluster.nodes);
  if (strategy == Strategy::hpz) return gpus > 1 && nodes > 1 ? std::vector<int>{gpus} : std::vector<int>();
  std::vector<int> groups;
  for (int part = 2; part < gpus; ++part)
    if (gpus % part == 0) groups.push_back(part);
  for (int group = 1; group < nodes && nodes % group == 0; group *= 2)
    if (gpus * group > 1) groups.push_back(gpus * group);
  return groups;
}

/// Parts of the model other than the whole: slices inside a node, and stages.
std::vector<Parts> all_parts(const Model& model, const Cluster& cluster) {
  std::vector<Parts> all;
  for (int tensor = 1; tensor <= cluster.gpus; ++tensor) {
    if (cluster.gpus % tensor != 0 || std::fmod(model.heads, tensor) != 0) continue;
    for (int stages = tensor == 1 ? 2 : 1; tensor * stages <= cluster.ranks(); stages *= 2)
      if (cluster.ranks() % (tensor * stages) == 0 && static_cast<size_t>(stages) <= model.units.size())
        all.push_back({tensor, stages, 1});
  }
  return all;
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
    for (const Strategy strategy : kStrategies) {
      if (constraints_.parts && constraints_.parts->ranks() > 1) break;
      if (constraints_.strategy.value_or(strategy) != strategy) continue;
      auto sizes = group_sizes(strategy, cluster_);
      if (has_groups(strategy) && constraints_.shard) sizes = {*constraints_.shard};
      for (const int shard : sizes) WEIR_TRY(enter(strategy, shard));
    }
    WEIR_TRY(enter_parts());
    if (ranking_.results.empty())
      return Status(Code::invalid_argument,
                    fmt::format("{} nodes of {} GPUs cannot be divided into groups or parts as the fixed "
                                "settings ask for; expected fewer of these",
                                cluster_.nodes, cluster_.gpus));
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

  void begin() {
    fitting_.clear();
    refused_.clear();
    refused_bytes_ = 0;
  }

  void end(StrategyResult result) {
    result.refused = refused_;
    if (!fitting_.empty()) result.best = best();
    fastest_ = std::max(fastest_, rate(result));
    ranking_.results.push_back(std::move(result));
  }

  Status enter(Strategy strategy, int shard) {
    begin();
    for (const Recompute recompute : those(constraints_.recompute, kRecomputations))
      for (const int prefetch : those(constraints_.prefetch, kPrefetches))
        for (const Limiter& limiter : those(constraints_.limiter, kLimiters)) {
          const Job job{strategy, shard, 1, 1, recompute, prefetch, limiter, constraints_.speed};
          if (is_double(job)) continue;
          WEIR_TRY(try_batches(job));
        }
    end(StrategyResult{strategy, shard, false, {}, {}});
    return {};
  }

  Status enter_parts() {
    begin();
    for (const Parts& parts : those(constraints_.parts, all_parts(model_, cluster_))) {
      if (parts.ranks() == 1 || (constraints_.can_cut && !constraints_.can_cut(parts))) continue;
      for (const Strategy strategy : {Strategy::no_shard, Strategy::shard_grad_op, Strategy::full_shard}) {
        if (constraints_.strategy.value_or(strategy) != strategy) continue;
        for (const Recompute recompute : those(constraints_.recompute, kRecomputations)) {
          const Job job{strategy,
                        0,
                        1,
                        1,
                        recompute,
                        constraints_.prefetch.value_or(kPrefetches.front()),
                        constraints_.limiter.value_or(kLimiters.front()),
                        constraints_.speed,
                        parts};
          WEIR_TRY(try_batches(job));
        }
      }
    }
    // None may have been worth a prediction.
    if (!fitting_.empty() || !refused_.empty()) end(StrategyResult{Strategy::full_shard, 0, true, {}, {}});
    return {};
  }

  /// Whether a job runs exactly as another one that is tried.
  bool is_double(const Job& job) const {
    const bool gathers_again = reshards(job.strategy);
    const bool any_limiter = !constraints_.limiter;
    if (any_limiter && !gathers_again && job.limiter.kind != Limiter::Kind::off) return true;
    if (!constraints_.prefetch && job.strategy == Strategy::no_shard && job.prefetch != kPrefetches.front())
      return true;
    // A window at least as large as the prefetch depth never limits anything.
    return any_limiter && job.limiter.kind == Limiter::Kind::sliding &&
           job.limiter.gathers >= job.prefetch + 1;
  }

  /// Sequences of a step of the ranks that hold the model together; 0: any number.
  int batch_of(const Job& job) const { return constraints_.batch * job.parts.ranks(); }

  Status try_batches(Job job) {
    const int batch = batch_of(job);
    job.reductions = constraints_.reductions;
    const auto sizes = sizes_up_to(batch > 0 ? batch : kLargestBatch);
    for (const int size : those(constraints_.micro_batch, sizes)) {
      job.micro_batches = batch > 0 ? (batch + size - 1) / size : any_number_of_micro_batches(job);
      const bool evens_out = batch > 0 && !constraints_.micro_batch;
      job.micro_batch = evens_out ? (batch + job.micro_batches - 1) / job.micro_batches : size;
      std::optional<Memory> told;
      if (constraints_.memory) told = constraints_.memory(job);
      if (told && !fits(*told)) break;  // larger ones do not fit either
      if (job.parts.ranks() > 1 && most_tokens_per_second(model_, cluster_, job) * kAlike < fastest_)
        continue;
      auto prediction = predict(model_, cluster_, job);
      WEIR_TRY(prediction.status());
      ++ranking_.tried;
      if (told) prediction->memory = *told;
      if (!told && !fits(prediction->memory)) break;
      if (batch > 0) count_real(job, *prediction);
      fitting_.push_back({job, *prediction});
    }
    return {};
  }

  /// With stages so many that these are idle for at most a fifth of the time.
  static int any_number_of_micro_batches(const Job& job) {
    return job.parts.stages > 1 ? 4 * job.parts.stages : 1;
  }

  /// The last micro-batch may be smaller. It is charged the time of a full one, but only its own tokens
  /// count.
  void count_real(const Job& job, Prediction& prediction) const {
    const double part = static_cast<double>(batch_of(job)) / (job.micro_batch * job.micro_batches);
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
  double fastest_ = 0;           ///< tokens per second of the best result so far
  std::vector<Choice> fitting_;  ///< choices that fit, for the strategy that is being tried
  std::string refused_;
  double refused_bytes_ = 0;
  std::string least_sentence_;
  double least_bytes_ = 0;
};

/// REQUIRES: there is a best plan.
std::string label(const StrategyResult& result) {
  const Job& job = result.best->job;
  std::string text(name(job.strategy));
  if (has_groups(job.strategy)) text += fmt::format(" in groups of {}", job.shard);
  if (job.parts.ranks() > 1)
    text += fmt::format(" in {} stages of {} slices", job.parts.stages, job.parts.tensor);
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
  const double tokens = first.best->job.micro_batch * model.sequence / first.best->job.parts.ranks();
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
