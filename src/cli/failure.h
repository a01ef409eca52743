// SPDX-License-Identifier: Apache-2.0
/// How a command reports an error and exits.
/// Tests: tests/cli/topo_test.cc, tests/cli/metrics_test.cc
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "src/base/status.h"

namespace weir::cli {

/// Exit status of a command with invalid arguments or files.
inline constexpr int kExitUsage = 2;

/// Prints why `weir command` failed. Returns `code`, the exit status.
inline int report_failure(std::string_view command, const Status& failed, int code) {
  fmt::print(stderr, "weir {}: {}\n", command, failed.message());
  return code;
}

}  // namespace weir::cli
