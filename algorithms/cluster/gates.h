// SPDX-License-Identifier: Apache-2.0
/// The inside of hosts: the ranks that receive data from outside, and the trees that spread it.
/// Tests: tests/algorithms/free_cluster_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"
#include "algorithms/cluster/hosts.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// Adds gates and trees to all shapes, and returns the number of parts into which each block is divided so
/// that gates and trees take whole parts.
///
/// Planes get shares that suit the host which would take longest, because data sent on a plane can only be
/// received on it. Within a plane a host's uplinks get shares in proportion to their capacities, and each
/// spreads its share over the ranks nearest to it. Trees avoid the gates' paths as long as that costs no
/// time, and are as few as possible without costing time (packing/pack.h).
///
/// Errors: invalid_argument if no plane connects all hosts, if ranks of a host do not reach each other, or if
/// shares need too many parts.
Result<int64_t> open_gates(Cluster& cluster);

/// Only the gates, of all ranks whether they have blocks or not. Errors: the same.
Result<int64_t> open_gates_only(Cluster& cluster);

}  // namespace weir::algorithms
