// SPDX-License-Identifier: Apache-2.0
/// Leaf switches whose ways up are narrower than those to their hosts.
///
/// Pure.
#pragma once

#include <optional>
#include <span>

#include "algorithms/cost/profile.h"
#include "topology/model/graph.h"

namespace weir::cost {

/// The groups of ranks whose hosts are attached to the same leaves, with what the narrowest of them can send
/// up. Nothing where there is one group, or a speed is not known. `hosts[r]` is the host of rank r in
/// `graph`.
std::optional<Border> leaf_border(const topology::Graph& graph, std::span<const topology::Index> hosts);

}  // namespace weir::cost
