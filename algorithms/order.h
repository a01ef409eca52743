/// The order in which plans take ranks, so that their traffic stays where it is cheap.
///
/// Rings and trees of the catalogue talk to neighbours in rank order. Users number ranks as they like; a ring
/// in that order may cross every leaf switch again and again. Pure.
#pragma once

#include <span>
#include <vector>

#include "src/base/types.h"
#include "topology/model/graph.h"

namespace weir::algorithms {

/// All ranks, such that those of one host follow each other, and so do hosts that are attached to the same
/// leaves, leaves below the same spines, and so on up: a ring in this order enters and leaves each of these
/// groups once, which is the least. Groups come in the order of their lowest ranks, so an order that is good
/// already stays. `hosts[r]` is the host of rank r in `graph`.
std::vector<Rank> near_order(const topology::Graph& graph, std::span<const topology::Index> hosts);

}  // namespace weir::algorithms
