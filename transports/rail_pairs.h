// SPDX-License-Identifier: Apache-2.0
/// Pairs ports of this host with ports of a peer.
/// Tests: tests/transports/verbs_ports_test.cc
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace weir {

/// Pairs (ours, theirs) of ports in the same network, each port in at most one pair. If there are no such
/// ports, pairs those that routing connects: the first with the first, and so on. `same_network` and
/// `can_route` take an index of ours and an index of theirs. Both sides find the same pairs if the predicates
/// are symmetric and each network has one port.
template <typename SameNetwork, typename CanRoute>
std::vector<std::pair<size_t, size_t>> pair_rails(size_t ours, size_t theirs, SameNetwork same_network,
                                                  CanRoute can_route) {
  std::vector<std::pair<size_t, size_t>> pairs;
  std::vector<bool> taken(theirs, false);
  for (size_t i = 0; i < ours; ++i) {
    for (size_t j = 0; j < theirs; ++j) {
      if (taken[j] || !same_network(i, j)) continue;
      taken[j] = true;
      pairs.emplace_back(i, j);
      break;
    }
  }
  if (!pairs.empty()) return pairs;
  for (size_t i = 0; i < std::min(ours, theirs); ++i) {
    if (can_route(i, i)) pairs.emplace_back(i, i);
  }
  return pairs;
}

}  // namespace weir
