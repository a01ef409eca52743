// SPDX-License-Identifier: Apache-2.0
/// How weir-train reads its command line, and what it says of options.
///
/// Not thread-safe.
/// Tests: tests/trainer/command_line_test.cc
#pragma once

#include <optional>

namespace CLI {
class App;
}  // namespace CLI

namespace weir::trainer {

constexpr int kExitUsage = 2;

/// Shows the values of options in help as users write them.
void write_plainly(CLI::App& app);

/// Sets what `app` has bound to its options. The exit code if they are wrong, which standard error says with
/// the option that was probably meant, or if help was asked for; else nullopt.
std::optional<int> parse(CLI::App& app, int argc, const char* const* argv);

}  // namespace weir::trainer
