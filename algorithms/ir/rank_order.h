// SPDX-License-Identifier: Apache-2.0
/// Whether the sums of a plan are in rank order: each result is ((x0 + x1) + x2) + ..., where xr is the input
/// of rank r. Two plans of which this holds give the same bits, whatever their chunks and moves.
///
/// Pure and thread-safe.
/// Tests: tests/ir/rank_order_test.cc
#pragma once

#include "algorithms/ir/plan.h"
#include "src/base/status.h"

namespace weir::ir {

/// Success if the left operand of every sum is the sum of the ranks 0 to r - 1 and the right one the input of
/// rank r, for some r; also for plans that sum nothing. Otherwise invalid_argument, with the first move that
/// sums in another order. Takes as much memory as verify(). REQUIRES: verify(plan) succeeded.
Status check_rank_order(const Plan& plan);

}  // namespace weir::ir
