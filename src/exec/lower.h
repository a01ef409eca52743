// SPDX-License-Identifier: Apache-2.0
/// Lowering: makes the program of one rank from a plan.
///
/// Every move becomes half a step at its source and half a step at its destination, in list order per lane.
/// Adjacent halves are fused: a fold over several arrivals, a value that is kept and passed on, and a place
/// that is sent to several peers become one step each. Where a move reads memory that another lane or rank
/// wrote, signal and wait steps are added. A plan that programs cannot express is refused with an error.
/// Tests: tests/exec/lower_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/ir/plan.h"
#include "src/base/status.h"
#include "src/exec/program.h"

namespace weir::exec {

/// What memory of other ranks a program may use; this depends on the executor.
enum class Peers : uint8_t { scratch, buffers };

/// Facts about a move's value: the part of a block to which it belongs, and whether it is the final sum.
struct Fact {
  uint32_t part = 0;
  bool completes = false;
};

/// The facts of all moves, indexed by move. They are found by a symbolic run of the plan, so compute them
/// once if several ranks are lowered. REQUIRES: ir::verify(plan) succeeded.
std::vector<Fact> facts_of(const ir::Plan& plan);

/// The program of `rank`. REQUIRES: ir::verify(plan) succeeded; `facts` are those of the plan.
Result<Program> lower(const ir::Plan& plan, std::span<const Fact> facts, Rank rank,
                      Peers peers = Peers::scratch);
/// As above; computes the facts for this call only.
Result<Program> lower(const ir::Plan& plan, Rank rank, Peers peers = Peers::scratch);

}  // namespace weir::exec
