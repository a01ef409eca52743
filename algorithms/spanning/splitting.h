// SPDX-License-Identifier: Apache-2.0
/// Converts a network of duplex links into one between ranks only with the same number of spanning trees.
///
/// Edge splitting (Lovasz 1976, Mader 1978) as in packing/switch_removal.h, but undirected; what must be
/// preserved is not flows but the condition of Tutte and Nash-Williams: a graph has k edge-disjoint spanning
/// trees if and only if at least k (t - 1) edges connect the parts of every partition into t parts. With
/// switches, which belong to no part, the narrowest border of each part counts (bound/partition.h).
/// Tests: tests/algorithms/spanning_test.cc
#pragma once

#include <cstdint>

#include "algorithms/spanning/duplex_graph.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// Whether the condition holds for this number of trees. Without switches they can then be packed.
bool bears(const DuplexGraph& graph, int64_t trees);

/// Afterwards no switch has a link, and the graph allows the trees. Traffic is spread evenly over the pairs
/// that a switch joins, as far as that loses no trees. Errors: invalid_argument if the trees do not fit or
/// the capacity of a switch cannot be joined like this; with more trees of less bandwidth it often can.
Status split_off_switches(DuplexGraph& graph, int64_t trees);

}  // namespace weir::algorithms
