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
