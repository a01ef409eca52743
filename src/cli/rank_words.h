// SPDX-License-Identifier: Apache-2.0
/// Formats rank numbers as text.
/// Tests: tests/cli/ps_test.cc
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "src/base/types.h"

namespace weir::cli {

/// Formats sorted ranges: "0-3, 7".
inline std::string rank_ranges(std::vector<Rank> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string out;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i;
    while (end + 1 < ranks.size() && ranks[end + 1] == ranks[end] + 1) ++end;
    if (!out.empty()) out += ", ";
    out += end == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[end]);
    i = end + 1;
  }
  return out;
}

}  // namespace weir::cli
