// SPDX-License-Identifier: Apache-2.0
/// Plans computed for the network between the positions of a layout (planner/planner.h), if they put less
/// load on their most loaded link than rings do, and are faster in a simulation: mostly if links are unequal.
/// Where rings reach 0.95 of the bound, nothing is planned.
///
/// Broadcast and reduce are excluded: their chunks would depend on the root, and for unequal hosts on one
/// switch a chain reaches the bound. Pure.
/// Tests: tests/algorithms/planned_test.cc
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// Planning for more ranks, or for networks with more edges, takes seconds of CPU time: 4 hosts of 8 GPUs
/// that are meshes have 496 edges.
inline constexpr int kMostPlannedRanks = 32;
inline constexpr size_t kMostPlannedEdges = 512;

/// Plans by collective, those of `make` or equal ones that somebody else has made.
using PlansOfNetwork = std::shared_ptr<const std::vector<ir::Plan>>;
using SharePlans = std::function<PlansOfNetwork(const std::function<std::vector<ir::Plan>()>& make)>;

/// Adds the network between the positions to a layout, and plans for it up to kMostPlannedRanks and
/// kMostPlannedEdges. `by_rank`: its rank r is the layout's rank r; `between_hosts`: index: node, as from
/// switches_between_hosts(). Collectives without a plan that is better than rings are skipped. A rank uses at
/// most `most_lanes` lanes. `share`: where the plans come from, because the search takes up to seconds; null:
/// they are made here. REQUIRES: as many ranks as in the layout.
void join(Layout& layout, Network by_rank, std::span<const char> between_hosts,
          int most_lanes = ir::kMaxLanes, const SharePlans& share = {});

/// The plan computed by join(), or null.
const ir::Plan* planned_for(Collective kind, int ranks, const Layout& layout);

/// That plan in `shape`. Errors: invalid_argument if there is none. REQUIRES: a multiple of its number of
/// chunks.
Result<ir::Plan> planned(const ir::Shape& shape, const Layout& layout);

}  // namespace weir::algorithms
