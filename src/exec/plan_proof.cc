// SPDX-License-Identifier: Apache-2.0

#include "src/exec/plan_proof.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "algorithms/ir/symbolic.h"
#include "algorithms/ir/verify.h"
#include "src/exec/check.h"
#include "src/exec/lower.h"

namespace weir::exec {

Status prove(const ir::Plan& plan, uint32_t slots) {
  WEIR_TRY(ir::verify(plan));
  if (plan.shape.relays > 0) {
    return {Code::invalid_argument,
            fmt::format("{} of its {} ranks only forward: expected ranks that all take part, as those of a "
                        "communicator do",
                        plan.shape.relays, plan.shape.ranks)};
  }
  std::vector<Program> programs;
  for (Rank rank = 0; rank < plan.shape.ranks; ++rank) {
    auto program = lower(plan, rank);
    WEIR_TRY(program.status());
    programs.push_back(std::move(*program));
  }
  CheckOptions options;
  options.slots = slots;
  WEIR_TRY(check(programs, options));
  if (!ir::has_in_place(plan.shape.kind)) return {};
  options.placement = ir::Placement::in_place;
  return check(programs, options);
}

}  // namespace weir::exec
