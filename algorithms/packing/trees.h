// SPDX-License-Identifier: Apache-2.0
/// What a tree packing is: trees over the ranks of a network that together fill its links.
///
/// A collective that spreads data (all-gather, broadcast) sends a part of it down every tree; run backwards,
/// on the reversed network, the same trees sum data up (reduce-scatter, reduce).
///
/// Values: no I/O, no threads.
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
      route;  ///< numbers of the network's edges, from `from` to `to`, in between switches only
  bool operator==(const TreeEdge&) const = default;
};

/// `multiplicity` equal trees.
struct Tree {
  Rank root = 0;
  int64_t multiplicity = 1;
  std::vector<TreeEdge> edges;  ///< from the root on: `from` is the root or was reached before
  bool operator==(const Tree&) const = default;
};

struct Packing {
  std::vector<int64_t> shares;  ///< by rank: trees rooted there, counted with their multiplicities
  Rational bandwidth;           ///< that every single tree can have at the same time, in units of capacity
  std::vector<Tree> trees;      ///< by root
  bool operator==(const Packing&) const = default;
};

/// The most edges between the root of a tree and a rank.
int height(const Packing& packing);

/// The same nodes, every edge turned around; edges keep their numbers.
Network reversed(const Network& network);

}  // namespace weir::algorithms
