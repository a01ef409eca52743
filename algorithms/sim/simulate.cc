// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace weir::sim {
namespace {

/// An extrapolation that differs by this part from the one from half as many passes needs no more of them.
constexpr double kSteady = 5e-3;

int64_t flows_per_pass(const ir::Plan& plan) {
  int64_t flows = 0;
  for (const ir::Move& move : plan.moves) flows += move.src == move.dst ? 1 : 2;
  return std::max<int64_t>(1, flows);
}

struct Run {
  Timeline timeline;
  int64_t flows = 0;
};

/// With bursts the second of two equal runs, which begins with the tokens that the first one left.
Result<Run> run(const ir::Plan& plan, const Tiling& tiling, int64_t passes, const Network& network,
                FlowRoutes& routes, const Channels& channels) {
  auto made = plan_flows(plan, tiling, passes, network, routes, channels);
  WEIR_TRY(made.status());
  auto timeline = made->flows.simulate();
  WEIR_TRY(timeline.status());
  if (channels.burst > 0) {
    made->flows.set_tokens(std::move(timeline->tokens));
    timeline = made->flows.simulate();
    WEIR_TRY(timeline.status());
  }
  return Run{std::move(*timeline), static_cast<int64_t>(made->flows.size())};
}

}  // namespace

int64_t fewest_passes(const Channels& channels) {
  // Ranks run ahead of others until slots are full: in small messages that takes more of them.
  constexpr double kFewest = 8, kFewestBytes = kFewest * (256 << 10);
  if (channels.slot_bytes <= 0) return static_cast<int64_t>(kFewest);
  return static_cast<int64_t>(std::max(kFewest, std::min(kFewestBytes / channels.slot_bytes, 4 * kFewest)));
}

double least_seconds(const Prediction& prediction, const Network& network) {
  double seconds = 0;
  for (size_t edge = 0; edge < prediction.edge_bytes.size(); ++edge) {
    const double capacity = static_cast<double>(network.edges[edge].capacity) * algorithms::kCapacityUnit;
    seconds = std::max(seconds, prediction.edge_bytes[edge] / (capacity * 1e9));
  }
  return seconds;
}

double bus_factor(Collective kind, int ranks) {
  const double share = (ranks - 1.0) / ranks;
  switch (kind) {
    case Collective::all_reduce: return 2 * share;
    case Collective::reduce:
    case Collective::broadcast: return 1;
    default: return share;
  }
}

Result<Prediction> simulate(const ir::Plan& plan, double bytes, const Network& network, FlowRoutes& routes,
                            const Channels& channels, int64_t most_flows) {
  const Tiling tiling = tile(plan, bytes, channels);
  const int64_t affordable = most_flows / flows_per_pass(plan);
  int64_t passes = std::max(fewest_passes(channels), kFewFlows / flows_per_pass(plan));
  std::map<int64_t, Run> runs;  // by their passes
  const auto run_of = [&](int64_t number) -> Result<const Run*> {
    const auto [known, fresh] = runs.try_emplace(number);
    if (!fresh) return &known->second;
    auto made = run(plan, tiling, number, network, routes, channels);
    WEIR_TRY(made.status());
    known->second = std::move(*made);
    return &known->second;
  };
  // The time of all passes if those behind the first ones take as long as the second half of these. Ends of
  // passes in one simulation do not tell: some trees run ahead of others, whose later passes are then faster.
  const auto extrapolated = [&](int64_t first) -> Result<double> {
    const auto whole = run_of(first);
    WEIR_TRY(whole.status());
    if (first == tiling.passes) return (*whole)->timeline.seconds;
    const auto half = run_of(first / 2);
    WEIR_TRY(half.status());
    const double period =
        ((*whole)->timeline.seconds - (*half)->timeline.seconds) / static_cast<double>(first - first / 2);
    return (*whole)->timeline.seconds + static_cast<double>(tiling.passes - first) * period;
  };

  Prediction prediction;
  prediction.passes = tiling.passes;
  for (;; passes *= 2) {
    // To extrapolate costs nearly as much as twice as many passes.
    if (tiling.passes <= 2 * passes) passes = tiling.passes;
    const auto seconds = extrapolated(passes);
    WEIR_TRY(seconds.status());
    prediction.seconds = *seconds;
    prediction.simulated_passes = passes;
    if (!prediction.extrapolated()) break;
    const auto before = extrapolated(passes / 2);
    WEIR_TRY(before.status());
    prediction.steady = std::abs(*seconds - *before) <= kSteady * *seconds;
    if (prediction.steady || 2 * passes > affordable) break;
  }
  Run& last = runs[passes];
  prediction.edge_bytes = std::move(last.timeline.edge_bytes);
  prediction.flows = last.flows;
  if (prediction.extrapolated()) {
    const double simulated = static_cast<double>(passes - 1) * tiling.tile_bytes + tiling.last_bytes();
    for (double& load : prediction.edge_bytes) load *= tiling.chunk_bytes / simulated;
    // The first passes may follow each other more quickly than links allow in the long run.
    prediction.seconds = std::max(prediction.seconds, least_seconds(prediction, network));
  }
  if (prediction.seconds > 0) prediction.algbw = bytes / prediction.seconds / 1e9;
  prediction.busbw = prediction.algbw * bus_factor(plan.shape.kind, plan.shape.members());
  return prediction;
}

Result<Prediction> simulate(const ir::Plan& plan, double bytes, const Network& network,
                            const Channels& channels) {
  FlowRoutes routes(network);
  return simulate(plan, bytes, network, routes, channels);
}

Result<JobPrediction> simulate(std::span<const JobStep> steps, const Network& network,
                               const Channels& channels) {
  JobPrediction job;
  job.edge_bytes.resize(network.edges.size());
  FlowRoutes routes(network);
  std::map<std::pair<const ir::Plan*, double>, Prediction> known;
  for (const JobStep& step : steps) {
    if (!std::isfinite(step.compute) || step.compute < 0) {
      return Status(Code::invalid_argument, fmt::format("step {} computes for {} s: expected 0 or more",
                                                        job.ends.size(), step.compute));
    }
    job.seconds += step.compute;
    job.computing += step.compute;
    if (step.plan != nullptr) {
      const auto [entry, fresh] = known.try_emplace({step.plan, step.bytes});
      if (fresh) {
        auto prediction = simulate(*step.plan, step.bytes, network, routes, channels);
        WEIR_TRY(prediction.status());
        entry->second = std::move(*prediction);
      }
      job.seconds += entry->second.seconds;
      for (size_t e = 0; e < job.edge_bytes.size(); ++e) job.edge_bytes[e] += entry->second.edge_bytes[e];
    }
    job.ends.push_back(job.seconds);
  }
  return job;
}

}  // namespace weir::sim
