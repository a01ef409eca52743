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

/// The time to verify a plan grows with its moves. Algorithms are pure functions of the number of ranks and
/// of their groups, and the tests verify them for fewer ranks: so larger plans run unverified, and the log
/// says so.
inline constexpr size_t kMostMovesVerified = 100'000;

/// Errors: those of the catalogue; internal_error with the number of the wrong move for a plan that is wrong.
Result<ir::Plan> emit_proven(const std::string& algorithm, const ir::Shape& shape,
                             const algorithms::Layout& layout, size_t most_moves = kMostMovesVerified);

}  // namespace weir::core
