// SPDX-License-Identifier: Apache-2.0
/// Networks of hosts for tests of plans for many hosts.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "algorithms/network/network.h"
#include "tests/algorithms/ground_truth.h"

namespace weir::algorithms {

/// The switches between hosts where all others have a rank beside them.
inline std::vector<char> far_switches(const Network& network) {
  std::vector<char> far(static_cast<size_t>(network.nodes), 1);
  std::vector<char> is_rank(far.size());
  for (const int32_t node : network.rank_nodes) {
    far[static_cast<size_t>(node)] = 0;
    is_rank[static_cast<size_t>(node)] = 1;
  }
  for (const Edge& edge : network.edges) {
    if (is_rank[static_cast<size_t>(edge.from)] != 0) far[static_cast<size_t>(edge.to)] = 0;
  }
  return far;
}

/// A cluster where little is equal: hosts of 1 to 4 GPUs on a switch and 1 to 3 NICs of different widths, the
/// first ones on the leaves of their groups, which have 1 to 4 hosts and one or two spines above them. Equal
/// seeds give equal networks.
inline Network uneven_cluster(uint32_t seed) {
  std::mt19937 random(seed);
  const auto upto = [&](int most) { return 1 + static_cast<int>(random() % static_cast<uint32_t>(most)); };
  NetworkBuilder builder;
  std::vector<int32_t> spines(static_cast<size_t>(upto(2)));
  for (int32_t& spine : spines) spine = builder.node();
  const int groups = 1 + upto(4);
  for (int group = 0; group < groups; ++group) {
    std::vector<int32_t> leaves(3);
    for (int32_t& leaf : leaves) {
      leaf = builder.node();
      for (const int32_t spine : spines) builder.link(leaf, spine, 10 * upto(3));
    }
    const int hosts = upto(4);
    for (int host = 0; host < hosts; ++host) {
      const int gpus = upto(4);
      const int32_t first = builder.ranks(gpus);
      const int32_t hub = builder.node();
      for (int gpu = 0; gpu < gpus; ++gpu) builder.link(first + gpu, hub, 100);
      const int nics = upto(3);
      for (int nic = 0; nic < nics; ++nic) {
        const int32_t adapter = builder.node();
        builder.link(first + nic % gpus, adapter, 30);
        builder.link(adapter, leaves[static_cast<size_t>(nic)], 5 * upto(4));
      }
    }
  }
  return builder.take();
}

}  // namespace weir::algorithms
