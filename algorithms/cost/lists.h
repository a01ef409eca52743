// SPDX-License-Identifier: Apache-2.0
/// The common grammar of NCCL_ALGO and NCCL_PROTO: lists of words, for all collectives or for one.
///
/// Pure functions: thread-safe.
/// Tests: tests/algorithms/cost_filter_test.cc
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/base/types.h"

namespace weir::cost {

using Names = std::vector<std::string_view>;

/// The words that are allowed in the lists.
struct Vocabulary {
  std::string_view kind;  ///< the kind of the words, such as "algorithm"
  Names names;            ///< all names that words can stand for
  std::string expected;   ///< the allowed words, for error messages
  /// The names that a word stands for; nothing for an unknown word.
  std::function<std::optional<Names>(std::string_view word)> meaning;
};

/// For each collective, the names that `text` excludes: "ring,tree", "^tree",
/// "ring;allreduce:tree;broadcast:^ring". Only the first list may omit the collective, and then applies to
/// all collectives without a list of their own; ^ means all others. Errors: invalid_usage for an unknown word
/// or collective.
Result<std::array<Names, kCollectives>> left_out(std::string_view text, const Vocabulary& vocabulary);

}  // namespace weir::cost
