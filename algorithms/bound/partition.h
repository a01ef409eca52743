// SPDX-License-Identifier: Apache-2.0
/// Partitions of the ranks, and the capacity between the parts.
///
/// Summing the data of t parts and telling the result to all of them takes 2 (t - 1) messages between parts
/// for each byte (the one-way gossip problem: Harary and Schwenk, J. Franklin Institute 297, 1974). The
/// capacity that enters the parts therefore limits an all-reduce, unless switches copy or reduce. Without
/// switches the least capacity per (t - 1) is the strength of the graph, which spanning trees reach (Tutte
/// 1961, Nash-Williams 1961).
/// Tests: tests/algorithms/bound_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/network/network.h"
#include "algorithms/network/ratio.h"

namespace weir::algorithms {

struct Partition {
  Ratio ratio;  ///< sum of the capacities that enter the sets, divided by their number minus one
  /// Nodes of each set, ascending; every rank is in exactly one set, switches in any number. No set: not
  /// found.
  std::vector<std::vector<int32_t>> sets;
};

/// The partition with the smallest ratio of all. Newton's iteration as in narrowest_cut(); for an assumed
/// ratio the worst partition is found with one max-flow per rank (Cunningham, J. ACM 32, 1985). Time: a few
/// times ranks times a max-flow. REQUIRES: check(network), at least two ranks. `begin`: the partition to
/// start with.
Partition narrowest_partition(const Network& network, Partition begin);

/// The partition with the smallest ratio among groups (see groups.h) that contain all ranks, and among those
/// into the narrow groups of one wide group and all others together. Time: linear, times the square of the
/// number of groupings that differ.
Partition narrow_partition(const Network& network);

}  // namespace weir::algorithms
