// SPDX-License-Identifier: Apache-2.0
/// Ways to part the ranks, and what fits between the parts.
///
/// To sum what t parts have and to tell all of them takes 2 (t - 1) messages between parts for each byte (the
/// one-way gossip problem: Harary and Schwenk, J. Franklin Institute 297, 1974). So the capacity that enters
/// the parts limits an all-reduce, unless switches copy or reduce. Without switches the least capacity per
/// (t - 1) is the strength of the graph, which spanning trees reach (Tutte 1961, Nash-Williams 1961).
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/network/network.h"
#include "algorithms/network/ratio.h"

namespace weir::algorithms {

struct Partition {
  Ratio ratio;  ///< the sum of the capacities that enter the sets, over one less than their number
  /// Nodes, ascending; every rank is in exactly one set, switches in any number. No set: not found.
  std::vector<std::vector<int32_t>> sets;
};

/// The partition of least ratio among all. Newton's iteration like narrowest_cut(); for an assumed ratio the
/// worst partition is found by as many max-flows as there are ranks (Cunningham, J. ACM 32, 1985). Time: a
/// few times ranks times a max-flow. REQUIRES: check(network), at least two ranks. `begin`: a partition to
/// begin with.
Partition narrowest_partition(const Network& network, Partition begin);

/// The partition of least ratio among groups (see groups.h) that hold all ranks. Time: linear.
Partition narrow_partition(const Network& network);

}  // namespace weir::algorithms
