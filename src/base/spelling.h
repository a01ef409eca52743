// SPDX-License-Identifier: Apache-2.0
/// Which word somebody may have meant.
///
/// Pure and thread-safe.
#pragma once

#include <cstddef>
#include <string_view>

namespace weir {

/// Letters to insert, to leave out, to replace or to swap with their neighbour, to make `b` of `a`.
size_t edits(std::string_view a, std::string_view b);

/// The nearest of several words, if it is at most two edits away and not `word` itself; else "".
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
