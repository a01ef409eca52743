// SPDX-License-Identifier: Apache-2.0
/// The list of all algorithms.
///
/// Constant data and pure functions: thread-safe.
/// Tests: tests/algorithms/catalogue_test.cc
#pragma once

#include <span>
#include <string_view>

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// One algorithm for one collective.
struct Entry {
  std::string_view algorithm;  ///< the name, such as "ring"
  Collective kind;
  /// For a number of ranks: the number of chunks must be a multiple of this value, which is also a good
  /// number.
  uint32_t (*default_chunks)(int ranks, const Layout& layout);
  /// REQUIRES: ranks >= 2 and a valid number of chunks; otherwise use emit() below.
  ir::Plan (*make)(const ir::Shape& shape);  ///< null: there is only make_on
  std::string_view remarks;                  ///< help text: when it is good, what it needs
  bool pulls = false;                        ///< whether ranks read each other's memory
  /// Used instead of `make` by algorithms that need more of the layout than the order of ranks; see
  /// needs_layout().
  Result<ir::Plan> (*make_on)(const ir::Shape& shape, const Layout& layout) = nullptr;
};

/// All entries; entries of one algorithm are adjacent.
std::span<const Entry> catalogue();

/// The entry, or null.
const Entry* find(std::string_view algorithm, Collective kind);

/// Whether the entry sums, and in the order of positions, so that all such entries give the same bits
/// (ir::check_rank_order).
bool sums_in_rank_order(const Entry& entry);

/// Whether the entry exists for sums in rank order only, and is not considered where the order is free.
bool is_for_rank_order(const Entry& entry);

/// Whether the entry uses `make_on` for this layout: if there are groups, or if `make` is null.
bool needs_layout(const Entry& entry, const Layout& layout);

/// The entry's preferred number of chunks per block for this number of ranks and layout (at least 1).
uint32_t default_chunks(const Entry& entry, int ranks, const Layout& layout = {});

/// The plan of `algorithm` for any shape it supports, including one rank. Ranks are positions of `layout`;
/// its order is ignored. Not verified: see ir::verify. Errors: invalid_argument for an unknown name, a
/// collective that the algorithm does not support, an invalid shape, or a layout that lacks what it needs.
Result<ir::Plan> emit(std::string_view algorithm, const ir::Shape& shape, const Layout& layout = {});

}  // namespace weir::algorithms
