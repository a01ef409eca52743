// SPDX-License-Identifier: Apache-2.0
/// All algorithms, by name.
///
/// Constant data and pure functions: thread-safe.
#pragma once

#include <span>
#include <string_view>

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"
#include "weir/status.h"

namespace weir::algorithms {

/// One algorithm for one collective.
struct Entry {
  std::string_view algorithm;  ///< "ring"
  Collective kind;
  /// For so many ranks, the number of chunks must be a multiple of this; it is also a good number of chunks.
  uint32_t (*default_chunks)(int ranks, const Layout& layout);
  /// REQUIRES: ranks >= 2 and a right number of chunks; use emit() below otherwise.
  ir::Plan (*make)(const ir::Shape& shape);  ///< null: there is only make_on
  std::string_view remarks;                  ///< for people: when it is good, what it needs
  bool pulls = false;                        ///< ranks read each other's memory
  /// Instead of `make`, for algorithms that need more of the layout than the order of ranks; see
  /// needs_layout().
  Result<ir::Plan> (*make_on)(const ir::Shape& shape, const Layout& layout) = nullptr;
};

/// Every entry; those of one algorithm follow each other.
std::span<const Entry> catalogue();

/// The entry, or null.
const Entry* find(std::string_view algorithm, Collective kind);

/// Whether the entry's plans there come from `make_on`: where there are groups, or nothing else makes them.
bool needs_layout(const Entry& entry, const Layout& layout);

/// The chunks per block that the entry likes for so many ranks in a layout (at least 1).
uint32_t default_chunks(const Entry& entry, int ranks, const Layout& layout = {});

/// The plan of `algorithm` for any shape it supports, one rank included. Ranks are places of
/// `layout`; its order does not count. Not verified: that is for ir::verify. Errors: invalid_argument for an
/// unknown name, a collective the algorithm does not do, a shape it cannot take, or a layout that lacks what
/// it needs.
Result<ir::Plan> emit(std::string_view algorithm, const ir::Shape& shape, const Layout& layout = {});

}  // namespace weir::algorithms
