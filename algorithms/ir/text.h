// SPDX-License-Identifier: Apache-2.0
/// Plans as text, for files, people and tests. docs/plan-format.md has the grammar.
///
/// Pure and thread-safe.
/// Tests: tests/ir/text_test.cc
#pragma once

#include <string>
#include <string_view>

#include "algorithms/ir/plan.h"
#include "src/base/status.h"

namespace weir::ir {

/// Writes one line per move. read_text() returns the same plan. REQUIRES: a plan that verify() accepts, whose
/// algorithm is a word (letters, digits, '_', '-', '.').
std::string write_text(const Plan& plan);

/// Reads one plan and nothing after it. The plan is well-formed but not proven: verify() it before use.
/// Errors: invalid_argument with the line number, what was found and what was expected.
Result<Plan> read_text(std::string_view text);

}  // namespace weir::ir
