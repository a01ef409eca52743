// SPDX-License-Identifier: Apache-2.0
/// The exact load of a plan on the edges of a network.
///
/// Only sums: chunks that pass, on the routes that the simulator uses. A plan that runs over many tiles takes
/// at least as long as its most loaded edge; so the bound's time / this time, a fraction of at most 1, is an
/// upper bound of the quality of a plan and its routes.
///
/// Pure.
/// Tests: tests/algorithms/sim_loads_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/network/network.h"
#include "algorithms/network/ratio.h"
#include "algorithms/sim/flow_routes.h"
#include "src/base/status.h"

namespace weir::sim {

struct PlanLoads {
  std::vector<int64_t> chunks;  ///< index: edge
  int64_t whole = 1;            ///< number of chunks of the largest buffer of a rank
  algorithms::Ratio
      time;  ///< T / M of the most loaded edge, times one unit of capacity, as in algorithms::Bound
  int32_t tightest = -1;  ///< that edge; -1: nothing moves between ranks
};

/// REQUIRES: a plan that ir::verify accepts. Errors: invalid_argument if the numbers of ranks of plan and
/// network differ, and for ranks without a path.
Result<PlanLoads> loads_of(const ir::Plan& plan, const Network& network, FlowRoutes& routes);

}  // namespace weir::sim
