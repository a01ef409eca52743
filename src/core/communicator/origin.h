// SPDX-License-Identifier: Apache-2.0
/// What a communicator is made of: an id that all its ranks were given, or another communicator.
/// Tests: tests/api/grow_test.cc, tests/core/shrink_test.cc
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "src/base/types.h"
#include "src/core/call/unique_id.h"

namespace weir::core {

class Communicator;

/// All ranks were given the same id, or the same ids in the same order.
struct IdOrigin {
  UniqueId id;
  int ranks = 0;
  Rank rank = 0;
  std::vector<UniqueId> other_ids = {};  ///< each of another root; at most ranks - 1
};

/// The part of a split that the parent's rank will belong to; collective over the parent. color < 0: takes
/// part in the split, and ends with size() 0.
struct SplitOrigin {
  Communicator* parent = nullptr;
  int color = 0;
  int key = 0;
};

/// The parent without some ranks; collective over the others.
struct ShrinkOrigin {
  Communicator* parent = nullptr;
  std::vector<Rank> excluded;  ///< sorted, without this rank
  /// What is under way on the parent, which may have failed, ends with an error first; else connecting waits
  /// until it is done.
  bool after_failure = false;
};

/// The parent with further ranks; collective over all of them. Ranks of the parent keep their numbers, and
/// newcomers, which are made IdOrigin, have those up to `ranks`.
struct GrowOrigin {
  Communicator* parent = nullptr;
  int ranks = 0;
  std::optional<UniqueId> id;  ///< given to one of the parent's ranks, the coordinator; none on the others
};

using Origin = std::variant<IdOrigin, SplitOrigin, ShrinkOrigin, GrowOrigin>;

/// The communicator that it is made of; null: none.
inline Communicator* parent_of(const Origin& origin) {
  return std::visit(
      [](const auto& from) -> Communicator* {
        if constexpr (requires { from.parent; }) return from.parent;
        return nullptr;
      },
      origin);
}

}  // namespace weir::core
