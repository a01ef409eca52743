// SPDX-License-Identifier: Apache-2.0
/// weir plan --compare: published figures (published_rates.h) beside weir's plans for the same machines.
/// Tests: tests/cli/compare_test.cc
#pragma once

namespace weir::cli {

/// Plans each machine as weir plan does, and prints a table, row by row, or JSON. Returns the exit code.
int print_comparison(bool json);

}  // namespace weir::cli
