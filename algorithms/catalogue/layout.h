// SPDX-License-Identifier: Apache-2.0
/// Where ranks are: the order in which plans take them, and the nested groups within which traffic is cheap.
///
/// Users number ranks as they like; a ring in that order may cross every leaf switch again and again. Plans
/// are made over places instead, place p being the rank order[p] (see ir/relabel.h). Pure.
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

/// Groups of consecutive places: the first place of each, rising, the first one 0.
using Groups = std::vector<int>;

/// An order of all places; the first one follows the last.
using Ring = std::vector<Rank>;
/// Those that run side by side; one that is there twice carries twice as much.
using Rings = std::vector<Ring>;

struct Layout {
  /// By place; groups of all levels are consecutive in it.
  std::vector<Rank> order = {};
  /// The widest groups first; each level divides groups of the one before it.
  std::vector<Groups> levels = {};
  /// Empty: one ring, of the places in order.
  Rings rings = {};
  /// What joins the places, where all of it is known; its rank p is place p.
  std::optional<Network> network = {};
  /// Made for that network once, for whoever has a copy of the layout (planned.h); null: none.
  std::shared_ptr<const std::vector<ir::Plan>> plans = {};
};

/// The layout of ranks on hosts: those of one host follow each other, and so do hosts that are attached to
/// the same leaves, leaves below the same spines, and so on up: a ring in this order enters and leaves each
/// of these groups once, which is the least. Groups come in the order of their lowest ranks, so an order that
/// is good already stays. Levels that say nothing new (one group of all, every rank by itself, the same
/// groups as the level before) are left out. `hosts[r]` is the host of rank r in `graph`.
Layout layout_of(const topology::Graph& graph, std::span<const topology::Index> hosts);

}  // namespace weir::algorithms
