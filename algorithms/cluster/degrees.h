// SPDX-License-Identifier: Apache-2.0
/// The numbers of neighbours of hosts in the trees of an all-reduce with free roots.
///
/// A tree over hosts along which data is summed to a root and spread from there loads a host's border in
/// either direction with as many messages as the host has neighbours in the tree, wherever the root is. In
/// the same way it loads a group's border as often as tree edges cross it. Each host needs one neighbour; n
/// connected hosts have 2 (n - 1) among themselves, and all others are outside their group. If a group cannot
/// have that many, it consists of pieces that are connected outside, which crosses its border once for each
/// piece. These are the partitions of the bound (bound/partition.h), as far as they follow groups.
///
/// Values: no I/O, no threads.
/// Tests: tests/algorithms/free_cluster_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/cluster/host_groups.h"
#include "algorithms/packing/rational.h"

namespace weir::algorithms {

/// The limit of a host: with d neighbours on average it takes at least (d + offset) / pace, for a message of
/// one byte and capacities in bytes per second.
struct DegreeLimit {
  Rational pace;
  Rational offset;
  bool operator==(const DegreeLimit&) const = default;
};

struct Degrees {
  int64_t blocks = 1;          ///< number of trees, each with an equal part of the data
  std::vector<int64_t> hosts;  ///< index: host; neighbours in all trees together, at least `blocks`
};

/// Degrees such that the slowest host or group takes nearly the minimum time: at most 1/1000 more, because
/// few trees are preferred and groups are in no more pieces than necessary. `kind`: index: host; its position
/// in `limits`. `least`: a lower bound of the time. REQUIRES: every host has a limit; paces are above 0,
/// offsets at least 0.
Degrees share_degrees(const std::vector<HostGroup>& groups, std::span<const int32_t> kind,
                      std::span<const std::vector<DegreeLimit>> limits, const Rational& least);

}  // namespace weir::algorithms
