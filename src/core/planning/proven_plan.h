// SPDX-License-Identifier: Apache-2.0
/// Makes a plan of the catalogue and proves it, before a program of it may run.
///
/// Pure, but for the log.
/// Tests: tests/core/proven_plan_test.cc
#pragma once

#include <cstddef>
#include <string>

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"
#include "src/base/status.h"

namespace weir::core {

/// Plans with more moves are proven by fingerprints instead of exact sets of ranks (ir::RankSetKind), whose
/// size grows with the number of ranks.
inline constexpr size_t kMostMovesExact = 100'000;

/// Logs which proof the plan has, and how long it took. Errors: those of the catalogue; internal_error with
/// the number of the wrong move for a plan that is wrong.
Result<ir::Plan> emit_proven(const std::string& algorithm, const ir::Shape& shape,
                             const algorithms::Layout& layout, size_t most_moves_exact = kMostMovesExact);

}  // namespace weir::core
