// SPDX-License-Identifier: Apache-2.0
/// Help for tests of programs: a plan lowered for all its ranks.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/ir/verify.h"
#include "src/exec/check.h"
#include "src/exec/lower.h"

namespace weir::exec {

inline std::vector<Program> lower_all(const ir::Plan& plan, Peers peers = Peers::scratch) {
  std::vector<Program> programs;
  for (Rank rank = 0; rank < plan.shape.ranks; ++rank) {
    auto program = lower(plan, rank, peers);
    EXPECT_TRUE(program.ok()) << plan.algorithm << ": " << program.status().message();
    if (program.ok()) programs.push_back(std::move(*program));
  }
  return programs;
}

/// Success if the programs are correct with this number of slots, in every placement that the collective
/// allows.
inline Status check_all(const std::vector<Program>& programs, uint32_t slots) {
  CheckOptions options;
  options.slots = slots;
  WEIR_TRY(check(programs, options));
  if (!ir::has_in_place(programs[0].shape.kind)) return {};
  options.placement = ir::Placement::in_place;
  return check(programs, options);
}

inline std::string label(const algorithms::Entry& entry, int ranks) {
  return std::string(entry.algorithm) + " " + std::string(name(entry.kind)) + " over " +
         std::to_string(ranks);
}

}  // namespace weir::exec
