// SPDX-License-Identifier: Apache-2.0
/// How AMD's kernel driver describes links between GPUs: in sysfs (KFD), and through ROCm SMI, which reads
/// them there.
#pragma once

#include <algorithm>
#include <cstdint>

#include "topology/model/graph.h"
#include "topology/model/rates.h"

namespace weir::topology {

/// Whether an xGMI link of this weight leads to the other GPU directly; others lead over several. 13: inside
/// a package, 15: to another, 41: the same of partitions.
inline bool is_direct_xgmi(int64_t weight) { return weight == 13 || weight == 15 || weight == 41; }

/// How many links there are: what all carry (MB/s) over what one carries. One where that is not told.
inline int xgmi_count(int64_t least, int64_t most) {
  return least > 0 && most > least ? static_cast<int>(std::min<int64_t>(most / least, 64)) : 1;
}

/// The links from one GPU to another; both bandwidths in MB/s, 0: not told.
inline Link xgmi_link(const Graph& graph, Index from, Index to, int64_t least, int64_t most) {
  const int count = xgmi_count(least, most);
  const double usual = count * xgmi_gb_per_s(graph.get<GpuFacts>(from)->arch);
  return {from, to, LinkKind::xgmi, count, most > 0 ? static_cast<double>(most) / 1000 : usual, 0, -1};
}

}  // namespace weir::topology
