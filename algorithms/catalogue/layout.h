// SPDX-License-Identifier: Apache-2.0
/// The order in which plans use ranks, and the nested groups within which traffic is cheap.
///
/// Users number ranks arbitrarily; a ring in that order may cross leaf switches many times. Plans are made
/// over positions instead; position p is the rank order[p] (see ir/relabel.h). Pure.
/// Tests: tests/algorithms/layout_test.cc
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/network/network.h"
#include "src/base/types.h"
#include "topology/model/graph.h"

namespace weir::algorithms {

/// Groups of consecutive positions: the first position of each, ascending, beginning with 0.
using Groups = std::vector<int>;

/// A cyclic order of all positions.
using Ring = std::vector<Rank>;
/// Parallel rings; a ring that occurs twice carries twice as much data.
using Rings = std::vector<Ring>;

struct Layout {
  /// Rank at each position; groups of all levels are consecutive in it.
  std::vector<Rank> order = {};
  /// The widest groups first; each level divides groups of the level before it.
  std::vector<Groups> levels = {};
  /// Empty: one ring, in the order of positions.
  Rings rings = {};
  /// The network between the positions, if it is known completely; its rank p is position p.
  std::optional<Network> network = {};
  /// Plans computed once for that network and shared by all copies of the layout (planned.h); null: none.
  std::shared_ptr<const std::vector<ir::Plan>> plans = {};
};

/// The layout in which every place is the rank of the same number, without groups, rings and network.
Layout layout_by_rank(size_t ranks);

/// The layout of ranks on hosts: ranks of one host are consecutive, and so are hosts that are attached to the
/// same leaves, leaves below the same spines, and so on: a ring in this order enters and leaves each of these
/// groups once, which is the minimum. Groups are in the order of their lowest ranks, so that a good order is
/// kept. Levels without information (one group of all, every rank alone, the same groups as the level before)
/// are omitted. `hosts[r]` is the host of rank r in `graph`.
Layout layout_of(const topology::Graph& graph, std::span<const topology::Index> hosts);

}  // namespace weir::algorithms
