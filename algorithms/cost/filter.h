// SPDX-License-Identifier: Apache-2.0
/// Which algorithms are allowed, in the syntax of NCCL_ALGO.
///
/// Plain values and pure functions: thread-safe.
/// Tests: tests/algorithms/cost_filter_test.cc
#pragma once

#include <array>
#include <string_view>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/cost/lists.h"
#include "src/base/status.h"

namespace weir::cost {

/// The algorithms of the catalogue that correspond to NCCL's "tree", "ring" or "pat"; empty for any other
/// word.
Names algorithms_like(std::string_view nccl);

/// The algorithms of the catalogue that one call may use, by a list in the syntax of ncclCollConfig_t: words,
/// separated by commas, and ^ before the first for all others. A word is one of Filter::parse, with or
/// without a protocol of NCCL's ("RING_SIMPLE", "tree_ll"), which does not matter, or names a kernel for
/// hardware that weir does not use ("SYMK_LD"). Errors: invalid_argument for an unknown word.
Result<Names> selected_algorithms(std::string_view list);

class Filter {
 public:
  /// Allows everything.
  Filter() = default;
  /// Parses "ring,tree", "^tree", "ring;allreduce:tree;broadcast:^ring": lists as accepted by left_out()
  /// (lists.h). Names are NCCL's (ring, tree, pat and those whose hardware weir does not use) or the
  /// catalogue's; case does not matter. Errors: invalid_usage for an unknown word.
  static Result<Filter> parse(std::string_view text);
  /// Allows only that algorithm for collectives that it supports; everything for the others.
  static Filter only(std::string_view algorithm);

  /// If nothing would be allowed for a collective, everything is allowed.
  bool allows(const algorithms::Entry& entry) const;
  bool allows(std::string_view algorithm, Collective kind) const;

 private:
  std::array<Names, kCollectives> refused_;  ///< index: collective; excluded names of the catalogue
};

}  // namespace weir::cost
