// SPDX-License-Identifier: Apache-2.0
/// Which algorithms may be taken, in the words of NCCL_ALGO.
///
/// Plain values and pure functions: thread-safe.
#pragma once

#include <array>
#include <string_view>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/cost/lists.h"
#include "weir/status.h"

namespace weir::cost {

/// The algorithms of the catalogue that go the ways of NCCL's "tree", "ring" or "pat"; none for any other
/// word.
Names algorithms_like(std::string_view nccl);

class Filter {
 public:
  /// Everything.
  Filter() = default;
  /// "ring,tree", "^tree", "ring;allreduce:tree;broadcast:^ring": lists as left_out() takes them (lists.h).
  /// Names are NCCL's (ring, tree, pat and those whose hardware weir does not use) or the catalogue's; case
  /// does not matter. Errors: invalid_usage for a word that is neither.
  static Result<Filter> parse(std::string_view text);
  /// That algorithm alone wherever it does a collective; everything else elsewhere.
  static Filter only(std::string_view algorithm);

  /// A collective for which nothing would be left takes everything.
  bool allows(const algorithms::Entry& entry) const;
  bool allows(std::string_view algorithm, Collective kind) const;

 private:
  std::array<Names, kCollectives> refused_;  ///< names of the catalogue
};

}  // namespace weir::cost
