// SPDX-License-Identifier: Apache-2.0
/// Simulates a collective, or a sequence of them, on a network.
///
/// Pure; the same arguments give the same bits.
/// Tests: tests/algorithms/sim_plans_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/network/network.h"
#include "algorithms/sim/plan_flows.h"
#include "src/base/status.h"

namespace weir::sim {

struct Prediction {
  double seconds = 0;
  double algbw = 0;                ///< GB/s: bytes / seconds
  double busbw = 0;                ///< GB/s: algbw times the bytes that each rank must send per byte
  std::vector<double> edge_bytes;  ///< index: edge of the network
  int64_t flows = 0;               ///< number of simulated flows: messages and events to wait for
  int64_t passes = 0;
  int64_t simulated_passes = 0;
  /// Whether there were too many passes to simulate: the others are assumed to take equal times.
  bool extrapolated() const { return simulated_passes < passes; }
  bool steady = true;  ///< whether half as many passes, extrapolated, come within 0.5 %
};

/// The time for which the busiest edge is busy: no order of the same moves is faster.
double least_seconds(const Prediction& prediction, const Network& network);

/// busbw / algbw, as in nccl-tests: 2(n - 1)/n for all_reduce, 1 for broadcast and reduce, else (n - 1)/n.
double bus_factor(Collective kind, int ranks);

/// Passes that are simulated at least, if there are so many: 8 to 32, more with small messages.
int64_t fewest_passes(const Channels& channels);

/// Flows of the passes that are simulated first, which suffices to compare plans: ranks run ahead of others
/// until slots are full, so that fewer passes may look steady and take less time than later ones.
inline constexpr int64_t kFewFlows = 60'000;
/// Flows that are simulated at most, but for fewest_passes().
inline constexpr int64_t kMostFlows = 500'000;

/// Simulates one collective of `bytes` (the largest buffer of a rank). REQUIRES: a plan that ir::verify
/// accepts. With bursts, an equal collective is assumed to have come just before, and to have left the rest
/// in the buckets. Where all passes would be more than `most_flows`, the first ones are simulated, and
/// twice as many until the extrapolated time is steady. Errors: as plan_flows(). `routes` may be kept for the
/// next plan on the network: channels keep their paths.
Result<Prediction> simulate(const ir::Plan& plan, double bytes, const Network& network, FlowRoutes& routes,
                            const Channels& channels, int64_t most_flows = kMostFlows);
Result<Prediction> simulate(const ir::Plan& plan, double bytes, const Network& network,
                            const Channels& channels);

/// A step of a job: all ranks compute, then communicate, then the next step begins.
struct JobStep {
  double compute = 0;              ///< seconds before the collective
  const ir::Plan* plan = nullptr;  ///< null: only computing
  double bytes = 0;
};

struct JobPrediction {
  double seconds = 0;
  double computing = 0;            ///< seconds of computing
  std::vector<double> ends;        ///< index: step
  std::vector<double> edge_bytes;  ///< index: edge of the network
};

/// Simulates the steps one after the other; equal collectives (the same plan, the same bytes) are simulated
/// once. Errors: as above, and a compute time that is negative or not finite.
Result<JobPrediction> simulate(std::span<const JobStep> steps, const Network& network,
                               const Channels& channels);

}  // namespace weir::sim
