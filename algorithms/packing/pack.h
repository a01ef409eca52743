// SPDX-License-Identifier: Apache-2.0
/// Tree packings for collectives, as good as the bound or with a stated loss.
///
/// The way of ForestColl (arXiv 2402.06787): capacities become whole numbers of trees, switches are removed
/// (switch_removal.h), trees are packed (arborescences.h). Few trees per root come first, as they cost less
/// latency and memory.
///
/// Pure and deterministic; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/packing/trees.h"
#include "weir/status.h"

namespace weir::algorithms {

/// When a packing is good enough. The loss is 1 - bandwidth reached / bound.
struct PackingGoal {
  int optimal_trees = 8;        ///< with up to so many trees per root, nothing but no loss will do
  Rational enough = {98, 100};  ///< else: this part of the bound with as few trees as possible
  int most_trees = 64;          ///< else: the best with up to so many
};

struct Packed {
  Packing packing;
  int trees_per_root = 0;  ///< k; where weights differ: of a rank of weight 1
  Rational part_of_bound;  ///< bandwidth * k / bound: at most 1
};

/// A packing in which rank r is the root of k * weights[r] trees, for the k that suits the goal. `bound`: no
/// rank of weight 1 can send to all others faster, in units of capacity. That of algorithms/bound/cut.h is
/// the best; with one that is too high the loss is overstated, with one too low bandwidth is given away.
///
/// All-gather: weights of 1. Broadcast: 1 at the root, 0 else. Run backwards, a packing of the reversed
/// network makes a reduce-scatter or a reduce. Switches that copy or reduce are used as if they did not.
///
/// Errors: invalid_argument for a network that check() refuses, for weights that are not one per rank, below
/// 0 or all 0, a bound that is not above 0, more trees than can be counted, or ranks that cannot reach each
/// other.
Result<Packed> pack(const Network& network, const std::vector<int64_t>& weights, const Rational& bound,
                    const PackingGoal& goal = {});

/// The same with k as given: the best there is with so many trees.
Result<Packed> pack_few(const Network& network, const std::vector<int64_t>& weights, const Rational& bound,
                        int trees_per_root);

}  // namespace weir::algorithms
