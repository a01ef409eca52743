// SPDX-License-Identifier: Apache-2.0

#include "src/heap/page_ranges.h"

#include <iterator>

namespace weir::heap {

void PageRanges::add(uintptr_t begin, size_t bytes) {
  if (bytes == 0) return;
  const auto next = by_address_.lower_bound(begin);
  if (next != by_address_.end() && next->first == begin + bytes) {
    bytes += next->second;
    erase(next);
  }
  const auto after = by_address_.lower_bound(begin);
  if (after != by_address_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      begin = before->first;
      bytes += before->second;
      erase(before);
    }
  }
  insert(begin, bytes);
}

uintptr_t PageRanges::take(size_t bytes, size_t alignment) {
  for (auto fits = by_size_.lower_bound({bytes, 0}); fits != by_size_.end(); ++fits) {
    const auto [size, begin] = *fits;
    const uintptr_t at = (begin + alignment - 1) & ~(alignment - 1);
    if (at - begin > size || size - (at - begin) < bytes) continue;
    cut(by_address_.find(begin), at, bytes);
    return at;
  }
  return 0;
}

bool PageRanges::take_at(uintptr_t begin, size_t bytes) {
  auto range = by_address_.upper_bound(begin);
  if (range == by_address_.begin()) return false;
  --range;
  if (begin - range->first > range->second || range->second - (begin - range->first) < bytes) return false;
  cut(range, begin, bytes);
  return true;
}

void PageRanges::insert(uintptr_t begin, size_t bytes) {
  by_address_.emplace(begin, bytes);
  by_size_.emplace(bytes, begin);
  bytes_ += bytes;
}

void PageRanges::erase(ByAddress::iterator range) {
  bytes_ -= range->second;
  by_size_.erase({range->second, range->first});
  by_address_.erase(range);
}

/// Removes a part of a range.
void PageRanges::cut(ByAddress::iterator range, uintptr_t begin, size_t bytes) {
  const auto [first, size] = *range;
  erase(range);
  if (begin > first) insert(first, begin - first);
  if (const uintptr_t end = first + size; end > begin + bytes) insert(begin + bytes, end - (begin + bytes));
}

}  // namespace weir::heap
