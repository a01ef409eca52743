// SPDX-License-Identifier: Apache-2.0
/// Sets of blocks, stored as the minimum number of runs of consecutive blocks.
/// Tests: tests/algorithms/cluster_proof_test.cc
#pragma once

#include <cstdint>
#include <vector>

namespace weir::algorithms {

/// Blocks `first` to `last - 1`. REQUIRES: first < last.
struct Span {
  int64_t first = 0;
  int64_t last = 0;
  bool operator==(const Span&) const = default;
};

/// Ascending, disjoint and not adjacent.
using Blocks = std::vector<Span>;

/// Spans in any order, which may overlap.
Blocks joined(std::vector<Span> spans);
Blocks both(const Blocks& a, const Blocks& b);
Blocks without(const Blocks& a, const Blocks& b);
Blocks either(const Blocks& a, const Blocks& b);
int64_t count(const Blocks& blocks);

}  // namespace weir::algorithms
