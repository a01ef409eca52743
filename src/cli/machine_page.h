// SPDX-License-Identifier: Apache-2.0
/// The grammar of machines in a line, for readers: made of the tables from which such lines are read.
/// Tests: tests/cli/help_page_test.cc
#pragma once

#include <string>

namespace weir::cli {

/// What `weir help machine` prints.
std::string machine_help();
/// The same in Markdown: docs/machine.md.
std::string machine_page();

}  // namespace weir::cli
