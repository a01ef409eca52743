// SPDX-License-Identifier: Apache-2.0
/// The grammar that NCCL_ALGO and NCCL_PROTO share: lists of words, for all collectives or for one.
///
/// Pure functions: thread-safe.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/types.h"
#include "weir/status.h"

namespace weir::cost {

using Names = std::vector<std::string_view>;

/// What words may stand in the lists.
struct Vocabulary {
  std::string_view kind;  ///< "algorithm"
  Names names;            ///< all that words can mean
  std::string expected;   ///< the words, for who took a wrong one
  /// The names that a word means; nothing for a word without a meaning.
  std::function<std::optional<Names>(std::string_view word)> meaning;
};

/// By collective, the names that `text` leaves out: "ring,tree", "^tree",
/// "ring;allreduce:tree;broadcast:^ring". Only the first list may go without a collective, and then holds for
/// all that have none of their own; ^ means all but. Errors: invalid_usage for a word or a collective that is
/// unknown.
Result<std::array<Names, kCollectives>> left_out(std::string_view text, const Vocabulary& vocabulary);

}  // namespace weir::cost
