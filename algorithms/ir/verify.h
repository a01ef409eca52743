// SPDX-License-Identifier: Apache-2.0
/// Proves that a plan is correct, or reports what is wrong with it.
/// Tests: tests/ir/verify_test.cc
#pragma once

#include "algorithms/ir/plan.h"
#include "algorithms/ir/symbolic.h"
#include "src/base/status.h"

namespace weir::ir {

/// The largest plan that verify() accepts: chunks of memory of all ranks together, and chunks moved.
inline constexpr uint64_t kMaxPlanMemory = uint64_t{1} << 26;
inline constexpr uint64_t kMaxPlanTraffic = uint64_t{1} << 27;
inline constexpr int kMaxPlanRanks = 4096;

/// Whether there can be a plan of this shape: collective, ranks, root and chunks are valid and within the
/// limits.
Status check_shape(const Shape& shape, uint32_t scratch_chunks = 0);

/// Whether the plan implements its shape on every rank: in place (if the collective allows it) and out of
/// place, every output ends as the collective defines it, no share is summed twice, nothing is read before it
/// was written, no input is written, and a chunk is only stored where its length fits (chunks of a move are
/// consecutive parts of blocks, and output chunk c only holds part c % chunks).
///
/// The moves are executed in list order. The check of the lowered programs, which uses the numbers of slots,
/// proves that lanes and channels keep to that order where necessary, and that there is no deadlock.
///
/// Errors: invalid_argument, with the number of the move (from 0) or the output that is wrong. Pure and
/// thread-safe; time and memory are linear in the chunks moved, times ranks / 64 if they are summed and the
/// sets of ranks are exact. With fingerprints a wrong plan is accepted with a probability below 2^-32, and
/// the error of a share that is summed twice names the output instead of the move.
Status verify(const Plan& plan, RankSetKind kind = RankSetKind::exact);

}  // namespace weir::ir
