// SPDX-License-Identifier: Apache-2.0
/// Which ports of this host talk to which of a peer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace weir {

/// Pairs (ours, theirs) of ports in the same network, each port once. Where no two are, the first with the
/// first and so on, of those that routing joins. `same_network` and `can_route` take an index of ours and one
/// of theirs. Both sides find the same pairs, if the predicates are symmetric and there is one port per
/// network.
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
