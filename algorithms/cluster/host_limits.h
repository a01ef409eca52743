// SPDX-License-Identifier: Apache-2.0
/// The limits of hosts in an all-reduce with free roots.
/// Tests: tests/algorithms/free_cluster_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cluster/degrees.h"
#include "algorithms/cluster/hosts.h"
#include "algorithms/packing/rational.h"

namespace weir::algorithms {

struct HostLimits {
  std::vector<int32_t> kind;                     ///< index: host
  std::vector<std::vector<DegreeLimit>> limits;  ///< index: kind
  Rational least = 0;                            ///< time that hosts take with any number of neighbours
};

/// Limits of uplinks, and of all edges inside that trees and the gates' paths share. `up` and `down`: the
/// cluster of the reversed network and of the network itself, with the same hosts; both halves run at the
/// same time. REQUIRES: open_gates() made both and returned `parts_up` and `parts_down`.
HostLimits host_limits(const Cluster& up, int64_t parts_up, const Cluster& down, int64_t parts_down);

}  // namespace weir::algorithms
