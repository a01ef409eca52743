// SPDX-License-Identifier: Apache-2.0
/// AMD's description of links between GPUs: by the kernel driver in sysfs (KFD), and by ROCm SMI, which reads
/// it there.
/// Tests: tests/topology/detect_amd_test.cc
#pragma once

#include <algorithm>
#include <cstdint>

#include "topology/model/graph.h"
#include "topology/model/rates.h"

namespace weir::topology {

/// Whether an xGMI link of this weight leads directly to the other GPU; other weights are paths over several
/// links. 13: inside a package, 15: to another package, 41: the same for partitions.
inline bool is_direct_xgmi(int64_t weight) { return weight == 13 || weight == 15 || weight == 41; }

/// Number of links: the bandwidth of all (MB/s) divided by that of one. 1 if a bandwidth is not reported.
inline int xgmi_count(int64_t least, int64_t most) {
  return least > 0 && most > least ? static_cast<int>(std::min<int64_t>(most / least, 64)) : 1;
}

/// The links from one GPU to another; both bandwidths in MB/s, 0: not reported.
inline Link xgmi_link(const Graph& graph, Index from, Index to, int64_t least, int64_t most) {
  const int count = xgmi_count(least, most);
  const double usual = count * xgmi_gb_per_s(graph.get<GpuFacts>(from)->arch);
  return {from, to, LinkKind::xgmi, count, most > 0 ? static_cast<double>(most) / 1000 : usual, 0, -1};
}

}  // namespace weir::topology
