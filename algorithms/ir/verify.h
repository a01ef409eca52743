// SPDX-License-Identifier: Apache-2.0
/// Proves a plan right, or says what is wrong with it.
#pragma once

#include "algorithms/ir/plan.h"
#include "weir/status.h"

namespace weir::ir {

/// The largest plan that verify() takes on: chunks of memory of all ranks together, and chunks moved.
inline constexpr uint64_t kMaxPlanMemory = uint64_t{1} << 26;
inline constexpr uint64_t kMaxPlanTraffic = uint64_t{1} << 27;
inline constexpr int kMaxPlanRanks = 4096;

/// Whether there can be a plan of this shape: collective, ranks, root and chunks make sense and are not too
/// many.
Status check_shape(const Shape& shape, uint32_t scratch_chunks = 0);

/// Whether the plan does what its shape says, on every rank: in place (where the collective allows it) and
/// out of place, every output ends as the collective defines it, no share is summed twice, nothing is read
/// that was never written, no input is written, and a chunk is only put where its length fits (chunks of a
/// move are consecutive parts of blocks, and output chunk c only ever holds part c % chunks).
///
/// The moves are carried out in list order. That lanes and channels keep to that order where it matters, and
/// never come to a standstill, is for the check of the lowered programs, which knows slots.
///
/// Errors: invalid_argument, with the number of the move (counted from 0) or the output that is wrong. Pure
/// and thread-safe; time and memory are linear in the chunks moved, times ranks / 64 where they are summed.
Status verify(const Plan& plan);

}  // namespace weir::ir
