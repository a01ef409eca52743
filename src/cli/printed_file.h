// SPDX-License-Identifier: Apache-2.0
/// Sends what a command prints to the file of its -o.
///
/// Not thread-safe: replaces standard output of the process meanwhile.
/// Tests: tests/cli/help_page_test.cc
#pragma once

#include <functional>
#include <string>

namespace weir::cli {

/// Calls `act` and returns its exit status. With a path, what `act` prints replaces the content of that file;
/// unless its arguments were wrong (kExitUsage): then the file stays as it was. A file that cannot be written
/// is an error before `act` is called.
int print_to(const std::string& path, const std::string& command, const std::function<int()>& act);

}  // namespace weir::cli
