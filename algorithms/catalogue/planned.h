// SPDX-License-Identifier: Apache-2.0
/// Plans that were made for the network between the places of a layout (planner/planner.h), where they put
/// less on its most loaded line than rings do: mostly where links are unlike.
///
/// Broadcast and reduce are left out: their chunks would depend on the root, and over unlike hosts on one
/// switch a chain reaches the bound. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"
#include "weir/status.h"

namespace weir::algorithms {

/// Planning for more ranks, or for networks of more edges (close to a mesh of all), takes longer than 50 ms
/// of a core.
inline constexpr int kMostPlannedRanks = 16;
inline constexpr size_t kMostPlannedEdges = 144;

/// Gives a layout the network between its places, and plans for it up to kMostPlannedRanks and
/// kMostPlannedEdges; `by_rank`: its rank r is the layout's rank r; `between_hosts` by node, as of
/// switches_between_hosts(). Collectives for which there is none, or none better than rings, go without.
/// REQUIRES: as many ranks as the layout orders.
void join(Layout& layout, Network by_rank, std::span<const char> between_hosts);

/// What join() has made, or null.
const ir::Plan* planned_for(Collective kind, int ranks, const Layout& layout);

/// That plan in `shape`. Errors: invalid_argument where there is none. REQUIRES: a multiple of its chunks.
Result<ir::Plan> planned(const ir::Shape& shape, const Layout& layout);

}  // namespace weir::algorithms
