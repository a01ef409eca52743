// SPDX-License-Identifier: Apache-2.0
/// Tree packings for collectives that reach the bound, or a known fraction of it.
///
/// As in ForestColl (arXiv 2402.06787): capacities become whole numbers of trees, switches are removed
/// (switch_removal.h), and trees are packed (arborescences.h). Few trees per root are tried first, because
/// they cost less latency and memory.
///
/// Pure and deterministic; thread-safe.
/// Tests: tests/algorithms/packing_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/packing/trees.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// When a packing is good enough. The loss is 1 - bandwidth reached / bound.
struct PackingGoal {
  int optimal_trees = 8;        ///< up to this number of trees per root, no loss is accepted
  Rational enough = {98, 100};  ///< otherwise: this fraction of the bound with as few trees as possible
  int most_trees = 64;          ///< otherwise: the best with up to this number of trees per root
};

struct Packed {
  Packing packing;
  int trees_per_root = 0;  ///< k; with different weights: trees of a rank of weight 1
  Rational part_of_bound;  ///< bandwidth * k / bound: at most 1
};

/// A packing in which rank r is the root of k * weights[r] trees, for the k that suits the goal. `bound`: the
/// maximum rate at which a rank of weight 1 can send to all others, in units of capacity. The one of
/// algorithms/bound/cut.h is best; with a higher one the loss is overestimated, with a lower one bandwidth is
/// lost.
///
/// All-gather: all weights are 1. Broadcast: 1 at the root, 0 elsewhere. Run backwards, a packing of the
/// reversed network makes a reduce-scatter or a reduce. Switches that copy or reduce are used as ordinary
/// switches.
///
/// Errors: invalid_argument for a network that check() refuses, for weights that are not one per rank,
/// negative or all 0, a bound that is not above 0, too many trees, or ranks that cannot reach each other.
Result<Packed> pack(const Network& network, const std::vector<int64_t>& weights, const Rational& bound,
                    const PackingGoal& goal = {});

/// The same with a given k: the best packing with this number of trees.
Result<Packed> pack_few(const Network& network, const std::vector<int64_t>& weights, const Rational& bound,
                        int trees_per_root);

}  // namespace weir::algorithms
