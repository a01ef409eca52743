// SPDX-License-Identifier: Apache-2.0
/// Free ranges of pages: neighbours are merged, and the smallest one that is large enough is taken.
///
/// Not thread-safe. Uses the C library's heap.
/// Tests: tests/heap/page_ranges_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "src/heap/libc_memory.h"

namespace weir::heap {

class PageRanges {
 public:
  /// REQUIRES: the range overlaps none that is there.
  void add(uintptr_t begin, size_t bytes);
  /// Removes `bytes` at a multiple of `alignment`, a power of two; 0: no range is large enough.
  uintptr_t take(size_t bytes, size_t alignment);
  /// Removes `bytes` at `begin`. False, and nothing is removed, if not all of them are there.
  bool take_at(uintptr_t begin, size_t bytes);
  size_t bytes() const { return bytes_; }

  /// Removes all ranges and gives each to use(begin, bytes).
  template <typename Use>
  void drain(Use&& use) {
    for (const auto& [begin, bytes] : by_address_) use(begin, bytes);
    by_address_.clear();
    by_size_.clear();
    bytes_ = 0;
  }

 private:
  using BySize = std::pair<size_t, uintptr_t>;
  using ByAddress = std::map<uintptr_t, size_t, std::less<>, LibcMemory<std::pair<const uintptr_t, size_t>>>;

  void insert(uintptr_t begin, size_t bytes);
  void erase(ByAddress::iterator range);
  void cut(ByAddress::iterator range, uintptr_t begin, size_t bytes);

  ByAddress by_address_;
  std::set<BySize, std::less<>, LibcMemory<BySize>> by_size_;
  size_t bytes_ = 0;
};

}  // namespace weir::heap
