// SPDX-License-Identifier: Apache-2.0
/// The merges of a byte-pair encoding (Sennrich et al., 2016): which two adjacent tokens become one, in which
/// order.
///
/// Thread safety: concurrent calls of functions that do not change it.
/// Tests: tests/trainer/bpe_test.cc
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "trainer/math/row_calls.h"

namespace weir::trainer {

class BpeMerges {
 public:
  /// Appends a merge; earlier ones come first. The first of equal ones counts.
  void add(Token left, Token right, Token merged);

  /// Merges the first merge's pairs from left to right, and so on, as long as there are any, in a time that
  /// grows as n log n. REQUIRES: fewer than 2^32 tokens.
  std::vector<Token> apply(const std::vector<Token>& tokens) const;

 private:
  struct Merge {
    uint32_t rank;
    Token merged;
  };
  static uint64_t key(Token left, Token right) { return uint64_t{left} << 32 | right; }

  std::unordered_map<uint64_t, Merge> merges_;
};

}  // namespace weir::trainer
