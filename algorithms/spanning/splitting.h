// SPDX-License-Identifier: Apache-2.0
/// Turns a network of duplex links into one between ranks only that bears as many spanning trees.
///
/// Edge splitting (Lovasz 1976, Mader 1978) as in packing/switch_removal.h, but undirected, and what must not
/// get lost is not flows but the condition of Tutte and Nash-Williams: a graph bears k edge-disjoint spanning
/// trees if and only if at least k (t - 1) edges lie between the parts of every partition into t parts. With
/// switches, which belong to no part, the narrowest border of each part counts (bound/partition.h).
#pragma once

#include <cstdint>

#include "algorithms/spanning/duplex_graph.h"
#include "weir/status.h"

namespace weir::algorithms {

/// Whether the condition holds for so many trees. Without switches they can be packed then.
bool bears(const DuplexGraph& graph, int64_t trees);

/// Afterwards no switch has a link, and the graph bears the trees. Traffic is spread evenly over the pairs
/// that a switch joins, as far as that does no harm. Errors: invalid_argument where the trees do not fit or
/// what a switch has cannot be joined so; with more trees of less bandwidth it often can.
Status split_off_switches(DuplexGraph& graph, int64_t trees);

}  // namespace weir::algorithms
