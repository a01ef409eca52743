// SPDX-License-Identifier: Apache-2.0
/// Tree packings: trees over the ranks of a network that together fill its links.
///
/// A collective that spreads data (all-gather, broadcast) sends a part of it down every tree; run backwards,
/// on the reversed network, the same trees sum data up (reduce-scatter, reduce).
///
/// Values: no I/O, no threads.
/// Tests: tests/algorithms/packing_proof_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/network/network.h"
#include "algorithms/packing/rational.h"
#include "src/base/types.h"

namespace weir::algorithms {

struct TreeEdge {
  Rank from = 0;
  Rank to = 0;
  std::vector<int32_t>
      route;  ///< numbers of the network's edges, from `from` to `to`, with only switches in between
  bool operator==(const TreeEdge&) const = default;
};

/// `multiplicity` identical trees.
struct Tree {
  Rank root = 0;
  int64_t multiplicity = 1;
  std::vector<TreeEdge> edges;  ///< from the root on: `from` is the root or was reached by an earlier edge
  bool operator==(const Tree&) const = default;
};

struct Packing {
  std::vector<int64_t> shares;  ///< index: rank; sum of the multiplicities of its trees
  Rational bandwidth;           ///< bandwidth of every tree at the same time, in units of capacity
  std::vector<Tree> trees;      ///< sorted by root
  bool operator==(const Packing&) const = default;
};

/// The maximum number of edges between the root of a tree and a rank.
int height(const Packing& packing);

/// The same nodes with every edge reversed; edges keep their numbers.
Network reversed(const Network& network);

}  // namespace weir::algorithms
