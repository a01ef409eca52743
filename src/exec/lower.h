/// Lowering: plan and rank in, program out.
///
/// Every move becomes half a step at its source and half a step at its destination, in list order per lane.
/// Neighbouring halves fuse: a fold over several arrivals, a value kept and passed on, a place sent to
/// several peers are one step each. Where a move reads memory that another lane or rank wrote, signal and
/// wait steps are added. What the program form cannot express is refused with a sentence, never skipped.
#pragma once

#include "algorithms/ir/plan.h"
#include "src/exec/program.h"
#include "weir/status.h"

namespace weir::exec {

/// What ranks may use of each other's memory: whoever runs the program decides.
enum class Peers : uint8_t { scratch, buffers };

/// The program of `rank`. REQUIRES: ir::verify(plan) succeeded.
Result<Program> lower(const ir::Plan& plan, Rank rank, Peers peers = Peers::scratch);

}  // namespace weir::exec
