// SPDX-License-Identifier: Apache-2.0
/// Lowering: plan and rank in, program out.
///
/// Every move becomes half a step at its source and half a step at its destination, in list order per lane.
/// Neighbouring halves fuse: a fold over several arrivals, a value kept and passed on, a place sent to
/// several peers are one step each. Where a move reads memory that another lane or rank wrote, signal and
/// wait steps are added. What the program form cannot express is refused with a sentence, never skipped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/ir/plan.h"
#include "src/exec/program.h"
#include "weir/status.h"

namespace weir::exec {

/// What ranks may use of each other's memory: whoever runs the program decides.
enum class Peers : uint8_t { scratch, buffers };

/// What is known of a move's value: the part of a block it belongs to, and whether it is the final sum.
struct Fact {
  uint32_t part = 0;
  bool completes = false;
};

/// By move; found by carrying the plan out symbolically, so that it pays to keep them where several ranks are
/// lowered. REQUIRES: ir::verify(plan) succeeded.
std::vector<Fact> facts_of(const ir::Plan& plan);

/// The program of `rank`. REQUIRES: ir::verify(plan) succeeded; `facts` are those of the plan.
Result<Program> lower(const ir::Plan& plan, std::span<const Fact> facts, Rank rank,
                      Peers peers = Peers::scratch);
/// The same, with facts found for this rank alone.
Result<Program> lower(const ir::Plan& plan, Rank rank, Peers peers = Peers::scratch);

}  // namespace weir::exec
