// SPDX-License-Identifier: Apache-2.0
/// Lanes for the moves of a plan that was read from a file.
/// Tests: tests/algorithms/msccl_test.cc
#pragma once

#include <span>

#include "algorithms/ir/plan.h"

namespace weir::msccl {

/// Gives all moves lanes so that accesses of a rank to the same memory, one of them writing, are in one lane:
/// no lane then waits for another one of its rank. Rank r gets at most `most[r]` lanes. Values that no move
/// just after them in their lane sends on are stored in scratch. REQUIRES: operands in range, and values
/// that are made before they are used.
void assign_lanes(ir::Plan& plan, std::span<const size_t> most);

}  // namespace weir::msccl
