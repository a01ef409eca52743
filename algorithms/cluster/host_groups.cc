// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/host_groups.h"

#include <algorithm>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// Adds the group of hosts `first` to `last - 1`, which are all hosts or one group of the previous level;
/// returns its number.
int32_t add_group(const Cluster& cluster, int32_t first, int32_t last, size_t level,
                  std::vector<HostGroup>& groups) {
  if (last - first == 1) return first;
  HostGroup group{first, last, -1, 0, {}};
  if (level == cluster.levels.size()) {
    for (int32_t host = first; host < last; ++host) group.children.push_back(host);
  } else {
    const std::vector<int32_t>& firsts = cluster.levels[level];
    const auto begin = std::lower_bound(firsts.begin(), firsts.end(), first);
    const auto end = std::lower_bound(begin, firsts.end(), last);
    const auto border = [&](auto place) { return cluster.borders[level][at(place - firsts.begin())]; };
    if (end - begin == 1) {
      const int32_t same = add_group(cluster, first, last, level + 1, groups);
      int64_t& known = groups[at(same)].border;
      known = known == 0 ? border(begin) : std::min(known, border(begin));
      return same;
    }
    for (auto next = begin; next != end; ++next) {
      const int32_t until = next + 1 == end ? last : *(next + 1);
      const int32_t child = add_group(cluster, *next, until, level + 1, groups);
      if (until - *next > 1 && groups[at(child)].border == 0) groups[at(child)].border = border(next);
      group.children.push_back(child);
    }
  }
  const auto number = static_cast<int32_t>(groups.size());
  for (const int32_t child : group.children) groups[at(child)].parent = number;
  groups.push_back(std::move(group));
  return number;
}

}  // namespace

std::vector<HostGroup> host_groups(const Cluster& cluster) {
  const auto hosts = static_cast<int32_t>(cluster.hosts.size());
  std::vector<HostGroup> groups;
  for (int32_t host = 0; host < hosts; ++host) groups.push_back({host, host + 1, -1, 0, {}});
  add_group(cluster, 0, hosts, 0, groups);
  return groups;
}

}  // namespace weir::algorithms
