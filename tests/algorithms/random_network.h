// SPDX-License-Identifier: Apache-2.0
/// Small random networks, and what trying all cuts of them tells.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "algorithms/network/network.h"

namespace weir::algorithms {

/// `ranks` ranks and a few switches, capacities from 1 to `most`; not always connected, edges not always both
/// ways. Equal seeds give equal networks.
inline Network random_network(uint32_t seed, int ranks, int switches, int64_t most) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  };
  Network network;
  network.nodes = ranks + switches;
  for (int32_t rank = 0; rank < ranks; ++rank) network.rank_nodes.push_back(network.nodes - 1 - rank);
  const int64_t density = 2 + below(7);
  for (int32_t from = 0; from < network.nodes; ++from) {
    for (int32_t to = 0; to < network.nodes; ++to) {
      if (from != to && below(10) < density) network.edges.push_back({from, to, 1 + below(most)});
    }
  }
  return network;
}

/// A set of nodes, one bit each.
using NodeSet = uint32_t;

inline bool holds(NodeSet set, int32_t node) { return (set >> node & 1) != 0; }

/// The capacity that enters the set.
inline int64_t entering(const Network& network, NodeSet set) {
  int64_t sum = 0;
  for (const Edge& edge : network.edges) {
    if (!holds(set, edge.from) && holds(set, edge.to)) sum += edge.capacity;
  }
  return sum;
}

inline int64_t leaving(const Network& network, NodeSet set) {
  return entering(network, ~set & ((NodeSet{1} << network.nodes) - 1));
}

inline int ranks_in(const Network& network, NodeSet set) {
  int count = 0;
  for (int32_t node : network.rank_nodes) count += holds(set, node) ? 1 : 0;
  return count;
}

}  // namespace weir::algorithms
