// SPDX-License-Identifier: Apache-2.0
/// Trees inside a host, beside what goes in and out of its gates.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"
#include "algorithms/cluster/hosts.h"
#include "weir/status.h"

namespace weir::algorithms {

/// Adds trees to a shape that has gates, with `parts` of a block shared among these; `blocks`: of all hosts.
/// Errors: as pack() and open_gates().
Status plant_trees(HostShape& shape, const std::vector<Attachment>& uplinks, int64_t parts, int64_t blocks);

}  // namespace weir::algorithms
