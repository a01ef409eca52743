// SPDX-License-Identifier: Apache-2.0
/// How many neighbours hosts have in the trees of an all-reduce with free roots.
///
/// A tree over hosts along which data is summed up to a root and spread from there loads a host's border in
/// either direction with as many messages as the host has neighbours in the tree, wherever the root is. So
/// does it a group's border: as often as tree edges cross it. Each host needs one neighbour; n of them that
/// are joined have 2 (n - 1) among themselves, and all beyond leads out of their group. Where they cannot
/// have as many, the group is in pieces that are joined outside, which crosses its border once for each
/// piece. These are the partitions of the bound (bound/partition.h), as far as they follow groups.
///
/// Values: no I/O, no threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/cluster/host_groups.h"
#include "algorithms/packing/rational.h"

namespace weir::algorithms {

/// What limits a host: with d neighbours on the average it takes at least (d + offset) / pace, for a message
/// of one byte and capacities in bytes per second.
struct DegreeLimit {
  Rational pace;
  Rational offset;
  bool operator==(const DegreeLimit&) const = default;
};

struct Degrees {
  int64_t blocks = 1;          ///< trees: so many, each of which has the same part of the data
  std::vector<int64_t> hosts;  ///< neighbours by host, in all trees together; at least `blocks`
};

/// Degrees such that the slowest host or group takes about as short as can be: at most 1/1000 longer, as
/// there are few trees rather than many, and groups are not in more pieces than that takes. `kind` by host:
/// its place in `limits`; `least`: a time that it takes anyway. REQUIRES: every host has a limit; paces are
/// above 0, offsets at least 0.
Degrees share_degrees(const std::vector<HostGroup>& groups, std::span<const int32_t> kind,
                      std::span<const std::vector<DegreeLimit>> limits, const Rational& least);

}  // namespace weir::algorithms
