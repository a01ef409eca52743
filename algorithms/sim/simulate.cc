// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace weir::sim {
namespace {

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
  const int64_t affordable = std::max(fewest_passes(channels), most_flows / flows_per_pass(plan));
  // To extrapolate costs half as many passes more, and is less exact for few passes.
  const int64_t passes = tiling.passes <= 2 * affordable ? tiling.passes : affordable;
  auto made = run(plan, tiling, passes, network, routes, channels);
  WEIR_TRY(made.status());

  Prediction prediction;
  prediction.seconds = made->timeline.seconds;
  prediction.edge_bytes = std::move(made->timeline.edge_bytes);
  prediction.flows = made->flows;
  prediction.passes = tiling.passes;
  prediction.simulated_passes = passes;
  if (passes < tiling.passes) {
    // Half as many passes are simulated as well. Ends of passes in one simulation do not tell: some trees run
    // ahead of others, whose later passes are then faster.
    const int64_t fewer = passes / 2;
    const auto half = run(plan, tiling, fewer, network, routes, channels);
    WEIR_TRY(half.status());
    const double period = (prediction.seconds - half->timeline.seconds) / static_cast<double>(passes - fewer);
    prediction.seconds += static_cast<double>(tiling.passes - passes) * period;
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
