// SPDX-License-Identifier: Apache-2.0
/// What the ways between switches carry, for proofs.
/// Tests: tests/algorithms/cluster_proof_test.cc, tests/algorithms/exchange_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"
#include "algorithms/network/network.h"
#include "algorithms/network/ratio.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// Adds `units` parts, `times` times, to the edges of the way between two different switches, divided among
/// its paths by their weights. REQUIRES: `ways` are sorted. Errors: a way that is missing, whose paths are
/// broken, or among whose paths the parts cannot be divided.
Status load_way(const Network& network, std::span<const Way> ways, int32_t from, int32_t to, Int128 units,
                Int128 times, std::vector<Int128>& loads);

}  // namespace weir::algorithms
