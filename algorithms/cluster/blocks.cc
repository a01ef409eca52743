// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/blocks.h"

#include <algorithm>
#include <utility>

namespace weir::algorithms {

Blocks joined(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.first < b.first; });
  Blocks blocks;
  for (const Span& span : spans) {
    if (span.first >= span.last) continue;
    if (!blocks.empty() && span.first <= blocks.back().last) {
      blocks.back().last = std::max(blocks.back().last, span.last);
    } else {
      blocks.push_back(span);
    }
  }
  return blocks;
}

Blocks both(const Blocks& a, const Blocks& b) {
  Blocks blocks;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Span span{std::max(a[i].first, b[j].first), std::min(a[i].last, b[j].last)};
    if (span.first < span.last) blocks.push_back(span);
    a[i].last < b[j].last ? ++i : ++j;
  }
  return blocks;
}

Blocks without(const Blocks& a, const Blocks& b) {
  Blocks blocks;
  size_t j = 0;
  for (Span rest : a) {
    while (j < b.size() && b[j].last <= rest.first) ++j;
    for (size_t k = j; k < b.size() && b[k].first < rest.last; ++k) {
      if (b[k].first > rest.first) blocks.push_back({rest.first, b[k].first});
      rest.first = std::max(rest.first, b[k].last);
    }
    if (rest.first < rest.last) blocks.push_back(rest);
  }
  return blocks;
}

Blocks either(const Blocks& a, const Blocks& b) {
  std::vector<Span> spans = a;
  spans.insert(spans.end(), b.begin(), b.end());
  return joined(std::move(spans));
}

int64_t count(const Blocks& blocks) {
  int64_t sum = 0;
  for (const Span& span : blocks) sum += span.last - span.first;
  return sum;
}

}  // namespace weir::algorithms
