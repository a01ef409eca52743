// SPDX-License-Identifier: Apache-2.0
/// Trees inside a host, in addition to the traffic through its gates.
/// Tests: tests/algorithms/free_cluster_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"
#include "algorithms/cluster/hosts.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// Adds trees to a shape that has gates; `parts` of a block are shared among the gates; `blocks`: those of
/// all hosts. Errors: as pack() and open_gates().
Status plant_trees(HostShape& shape, const std::vector<Attachment>& uplinks, int64_t parts, int64_t blocks);

}  // namespace weir::algorithms
