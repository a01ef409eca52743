// SPDX-License-Identifier: Apache-2.0
/// What ranks in processes say of how they fared, and whom they name.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>

#include "src/base/status.h"
#include "tests/core/processes.h"

namespace weir::testing {

/// "ok", or the code and the sentence.
inline std::string words(const Status& status) {
  return status.ok() ? "ok" : fmt::format("{}: {}", static_cast<int>(status.code()), status.message());
}

/// Matches sentences that name a rank.
inline auto names(const Processes& processes, int rank) {
  return ::testing::HasSubstr(fmt::format("rank {} (pid {} on host", rank, processes.pid(rank)));
}

}  // namespace weir::testing
