// SPDX-License-Identifier: Apache-2.0
/// What happens inside hosts: which ranks take what from outside, and the trees that hand it on.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"
#include "algorithms/cluster/hosts.h"
#include "weir/status.h"

namespace weir::algorithms {

/// Adds gates and trees to all shapes, and returns in how many parts each block is divided so that gates and
/// trees take whole parts.
///
/// Planes get shares that suit the host which would take longest, as what is sent on one can only be received
/// on it. Within a plane a host's uplinks get shares in proportion to their capacities, and each spreads its
/// own over the ranks nearest to it. Trees keep off the gates' ways as long as that costs no time, and are as
/// few as they can be without costing time (packing/pack.h).
///
/// Errors: invalid_argument where no plane joins all hosts, ranks of a host do not reach each other, or
/// shares need more parts than can be counted.
Result<int64_t> open_gates(Cluster& cluster);

}  // namespace weir::algorithms
