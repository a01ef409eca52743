// SPDX-License-Identifier: Apache-2.0
/// The log of connections that a listener or root has rejected: at most one line per second and reason,
/// because foreign programs may connect as often as they like.
///
/// Not thread-safe.
/// Tests: tests/net/rejections_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

class Rejections {
 public:
  /// Counts a rejection for a reason, which is one of a few. Returns the line to log; nullopt if this reason
  /// had one less than a second before. `now_ns`: now_ns().
  std::optional<std::string> add(std::string_view reason, std::string_view peer, int64_t now_ns);

 private:
  struct Kind {
    uint64_t silent = 0;  ///< rejections since the last line
    int64_t line_ns = 0;  ///< time of the last line
  };

  std::map<std::string, Kind, std::less<>> kinds_;
};

}  // namespace weir
