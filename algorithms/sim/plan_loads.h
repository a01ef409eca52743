// SPDX-License-Identifier: Apache-2.0
/// What a plan puts on the edges of a network, exactly.
///
/// Nothing but sums: chunks that pass, on the routes that the simulator takes. A plan that runs over many
/// tiles takes at least as long as its most loaded edge needs for them; so the bound's time / this one, a
/// fraction of at most 1, says how good a plan and its routes can be at best.
///
/// Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/network/network.h"
#include "algorithms/network/ratio.h"
#include "algorithms/sim/flow_routes.h"
#include "weir/status.h"

namespace weir::sim {

struct PlanLoads {
  std::vector<int64_t> chunks;  ///< by edge
  int64_t whole = 1;            ///< chunks of the whole: of the largest buffer of a rank
  algorithms::Ratio
      time;  ///< T / M of the most loaded edge, times one unit of capacity, as algorithms::Bound has it
  int32_t tightest = -1;  ///< that edge; -1: nothing moves between ranks
};

/// REQUIRES: a plan that ir::verify accepts. Errors: invalid_argument for another number of ranks than the
/// network's, and ranks that no path joins.
Result<PlanLoads> loads_of(const ir::Plan& plan, const Network& network, FlowRoutes& routes);

}  // namespace weir::sim
