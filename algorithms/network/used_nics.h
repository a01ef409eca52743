// SPDX-License-Identifier: Apache-2.0
/// The NICs that a job can use: a move between two ranks takes a route with the fewest links.
///
/// Pure and thread-safe.
/// Tests: tests/algorithms/network_topology_test.cc
#pragma once

#include <span>
#include <vector>

#include "src/base/types.h"
#include "topology/model/graph.h"

namespace weir::algorithms {

/// If the ranks are on some of the GPUs only: removes from `usable` (index: node) the NICs and ports through
/// which no route with the fewest links between two ranks leads, mostly those beside the other GPUs. A host
/// whose NICs are all without routes keeps them, and so do very large jobs. `rank_at`: index: node; its rank
/// or -1.
void leave_out_far_nics(const topology::Graph& graph, std::span<const topology::Index> devices,
                        const std::vector<Rank>& rank_at, std::vector<char>& usable);

}  // namespace weir::algorithms
