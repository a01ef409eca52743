// SPDX-License-Identifier: Apache-2.0
/// Small networks for the simulator's tests. Capacities in GB/s, the same both ways.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "algorithms/network/network.h"

namespace weir::sim {

inline constexpr double kGiga = 1e9;

inline int64_t units(double gigabytes) {
  return static_cast<int64_t>(std::llround(gigabytes / algorithms::kCapacityUnit));
}

inline int32_t node(algorithms::Network& network) { return network.nodes++; }

inline int32_t rank_node(algorithms::Network& network) {
  network.rank_nodes.push_back(network.nodes);
  return network.nodes++;
}

/// The edge a -> b; b -> a follows it.
inline int32_t cable(algorithms::Network& network, int32_t a, int32_t b, double gigabytes) {
  network.edges.push_back({a, b, units(gigabytes), -1});
  network.edges.push_back({b, a, units(gigabytes), -1});
  return static_cast<int32_t>(network.edges.size()) - 2;
}

/// Ranks around one switch. Edge 2r leaves rank r, edge 2r + 1 goes to it.
inline algorithms::Network star(int ranks, double gigabytes) {
  algorithms::Network network;
  for (int r = 0; r < ranks; ++r) rank_node(network);
  const int32_t hub = node(network);
  for (int r = 0; r < ranks; ++r) cable(network, r, hub, gigabytes);
  return network;
}

/// Ranks in a row: edge 2r goes from rank r to r + 1, edge 2r + 1 back.
inline algorithms::Network row(const std::vector<double>& cables) {
  algorithms::Network network;
  for (size_t r = 0; r <= cables.size(); ++r) rank_node(network);
  for (size_t r = 0; r < cables.size(); ++r) {
    cable(network, static_cast<int32_t>(r), static_cast<int32_t>(r) + 1, cables[r]);
  }
  return network;
}

/// Hosts of GPUs around an internal switch, a few network adapters per host, hosts in groups under a leaf,
/// spines above: GPU i has adapter i * adapters / gpus.
struct LeafSpine {
  int hosts = 0;
  int gpus = 8;
  double inside = 300;  ///< per GPU
  int adapters = 1;
  double adapter = 25;
  int hosts_per_leaf = 0;
  int spines = 1;
  double uplink = 0;  ///< from a leaf to each spine

  int leaves() const { return hosts / hosts_per_leaf; }
};

inline algorithms::Network leaf_spine(const LeafSpine& shape) {
  algorithms::Network network;
  for (int rank = 0; rank < shape.hosts * shape.gpus; ++rank) rank_node(network);
  std::vector<int32_t> leaves;
  for (int leaf = 0; leaf < shape.leaves(); ++leaf) leaves.push_back(node(network));
  for (int host = 0; host < shape.hosts; ++host) {
    const int32_t inside = node(network);
    std::vector<int32_t> adapters;
    for (int c = 0; c < shape.adapters; ++c) {
      adapters.push_back(node(network));
      cable(network, adapters.back(), leaves[static_cast<size_t>(host / shape.hosts_per_leaf)],
            shape.adapter);
    }
    for (int gpu = 0; gpu < shape.gpus; ++gpu) {
      cable(network, host * shape.gpus + gpu, inside, shape.inside);
      cable(network, host * shape.gpus + gpu,
            adapters[static_cast<size_t>(gpu * shape.adapters / shape.gpus)], shape.adapter);
    }
  }
  for (int spine = 0; spine < shape.spines; ++spine) {
    const int32_t top = node(network);
    for (const int32_t leaf : leaves) cable(network, leaf, top, shape.uplink);
  }
  return network;
}

}  // namespace weir::sim
