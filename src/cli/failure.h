// SPDX-License-Identifier: Apache-2.0
/// How commands end where something went wrong.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "weir/status.h"

namespace weir::cli {

/// The exit status of a command whose arguments or files are wrong.
inline constexpr int kExitUsage = 2;

/// Prints why `weir command` failed. Gives `code` back, to exit with.
inline int report_failure(std::string_view command, const Status& failed, int code) {
  fmt::print(stderr, "weir {}: {}\n", command, failed.message());
  return code;
}

}  // namespace weir::cli
