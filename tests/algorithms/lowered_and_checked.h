// SPDX-License-Identifier: Apache-2.0
/// Whether a plan runs as programs, for tests of algorithms.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "algorithms/ir/plan.h"
#include "src/exec/check.h"
#include "src/exec/lower.h"

namespace weir::algorithms {

/// What is wrong with the programs of all ranks over channels of two slots, in three passes, in place and out
/// of place; empty: nothing.
inline std::string lowered_and_checked(const ir::Plan& plan) {
  std::vector<exec::Program> programs;
  for (Rank rank = 0; rank < plan.shape.ranks; ++rank) {
    auto program = exec::lower(plan, rank);
    if (!program.ok()) return program.status().message();
    programs.push_back(std::move(*program));
  }
  for (const auto placement : {ir::Placement::apart, ir::Placement::in_place}) {
    const Status status = exec::check(programs, {.slots = 2, .passes = 3, .placement = placement});
    if (!status.ok()) return status.message();
  }
  return "";
}

}  // namespace weir::algorithms
