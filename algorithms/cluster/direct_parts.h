// SPDX-License-Identifier: Apache-2.0
/// Direct parts of blocks: each rank of a host receives them by its own gates, instead of by trees in the
/// host.
///
/// A part that enters a host once loads the links inside it with one copy per rank, and those to its NICs
/// hardly at all. Where the links inside limit, as in large NVLink domains, the NICs of all ranks together
/// can take some parts off them.
///
/// Pure and thread-safe.
/// Tests: tests/algorithms/direct_parts_test.cc
#pragma once

#include <cstdint>
#include <optional>

#include "algorithms/cluster/cluster_plan.h"

namespace weir::algorithms {

/// The plan with `direct` of `of` equal shares of each block as direct parts. None if hosts differ, if a rank
/// has no gate, or if blocks would have too many parts. REQUIRES: 0 <= direct <= of, 0 < of; the plan has no
/// direct parts.
std::optional<ClusterPlan> with_direct_parts(ClusterPlan plan, int64_t direct, int64_t of);

/// The same plan, as valid as before, in which all parts enter a host once. REQUIRES: not all are direct.
ClusterPlan without_direct_parts(ClusterPlan plan);

}  // namespace weir::algorithms
