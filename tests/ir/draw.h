// SPDX-License-Identifier: Apache-2.0
/// A plan as a table, for people who look for what is wrong with it: tests print it when a plan is refused.
///
/// Pure and thread-safe; any plan, right or wrong, can be printed.
#pragma once

#include <string>

#include "algorithms/ir/plan.h"

namespace weir::ir {

/// What each rank does, one line per move and rank, in order. Long for large plans: about 60 bytes per line.
std::string draw_table(const Plan& plan);

}  // namespace weir::ir
