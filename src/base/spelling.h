// SPDX-License-Identifier: Apache-2.0
/// Finds the word that a misspelt word probably means.
///
/// Pure and thread-safe.
/// Tests: tests/base/spelling_test.cc
#pragma once

#include <cstddef>
#include <string_view>

namespace weir {

/// The edit distance: the number of letters to insert, delete, replace or swap with their neighbour to turn
/// `a` into `b`.
size_t edits(std::string_view a, std::string_view b);

/// Finds the nearest of several words if it is at most two edits away from `word` and not `word` itself; else
/// "".
class Nearest {
 public:
  explicit Nearest(std::string_view word) : word_(word) {}
  void consider(std::string_view candidate);
  std::string_view found() const { return found_; }

 private:
  static constexpr size_t kMost = 2;
  const std::string_view word_;
  std::string_view found_;
  size_t least_ = kMost + 1;
};

}  // namespace weir
