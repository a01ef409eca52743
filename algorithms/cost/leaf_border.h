// SPDX-License-Identifier: Apache-2.0
/// Leaf switches whose uplinks are narrower than the links to their hosts.
///
/// Pure.
/// Tests: tests/library/spine_test.py
#pragma once

#include <optional>
#include <span>

#include "algorithms/cost/profile.h"
#include "topology/model/graph.h"

namespace weir::cost {

/// The groups of ranks whose hosts are attached to the same leaves, with the uplink bandwidth of the
/// narrowest group. Nothing if there is only one group, or if a speed is unknown. `hosts[r]` is the host of
/// rank r in `graph`.
std::optional<Border> leaf_border(const topology::Graph& graph, std::span<const topology::Index> hosts);

}  // namespace weir::cost
