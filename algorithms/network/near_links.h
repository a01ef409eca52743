// SPDX-License-Identifier: Apache-2.0
/// The PCIe links inside hosts that moves take, where NVLink or xGMI connects the GPUs.
///
/// Pure and thread-safe.
/// Tests: tests/algorithms/network_topology_test.cc
#pragma once

#include <span>
#include <vector>

#include "topology/model/graph.h"
#include "topology/model/unions.h"

namespace weir::algorithms {

/// Joins the usable nodes (index: node) that links of NVLink or xGMI, or inside devices, connect.
topology::Unions fast_parts(const topology::Graph& graph, std::span<const char> usable);

/// Clears in `open` (index: link) the links over PCIe and between NUMA nodes that lead neither from a GPU to
/// the NICs nearest to it nor from a NIC to the GPUs nearest to it. Moves between the GPUs of a host take its
/// fast links, and moves between hosts the nearest NICs. A host keeps all of its links if its usable GPUs are
/// not joined, if one of them or a NIC reaches no partner, if a NIC is faster than the links of the GPUs
/// nearest to it, or if a rank is in its memory (`usable` and `rank_at`, index: node; -1: no rank).
void close_far_links(const topology::Graph& graph, std::span<const char> usable, std::span<const int> rank_at,
                     std::vector<char>& open);

}  // namespace weir::algorithms
