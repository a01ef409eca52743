// SPDX-License-Identifier: Apache-2.0
/// Finds the word that a misspelt word probably means.
///
/// Pure and thread-safe.
/// Tests: tests/base/spelling_test.cc
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

/// The edit distance: the number of letters to insert, delete, replace or swap with their neighbour to turn
/// `a` into `b`.
inline size_t edits(std::string_view a, std::string_view b) {
  // Three rows of the table of distances between prefixes of `a` and `b`: the last but one, the last, the
  // current.
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

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

inline void Nearest::consider(std::string_view candidate) {
  const size_t longer = std::max(word_.size(), candidate.size());
  if (candidate == word_ || longer - std::min(word_.size(), candidate.size()) > kMost) return;
  const size_t distance = edits(word_, candidate);
  if (distance >= least_) return;
  least_ = distance;
  found_ = candidate;
}

}  // namespace weir
