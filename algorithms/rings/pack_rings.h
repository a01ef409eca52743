// SPDX-License-Identifier: Apache-2.0
/// Rings over the ranks of a network that together fill its links as far as rings can.
///
/// All rings get the same bandwidth b. The width of a link is then the number of times that b fits into it,
/// and the remaining problem is to find as many Hamiltonian cycles as possible, where a hop between ranks
/// takes a shortest path over switches. Cycles are found by a depth-first search; when no more fit, some are
/// removed and others searched for (ruin and recreate: Schrimpf and others, Journal of Computational Physics
/// 159, 2000). The widths tried are fractions of links, the widest first, if cuts allow more than was found
/// before.
///
/// Pure and deterministic; thread-safe.
/// Tests: tests/algorithms/rings_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/catalogue/layout.h"
#include "algorithms/network/network.h"
#include "algorithms/network/ratio.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// `multiplicity` identical rings.
struct PackedRing {
  Ring order;  ///< ranks, beginning with rank 0
  int multiplicity = 1;
  bool operator==(const PackedRing&) const = default;
};

struct RingPacking {
  std::vector<PackedRing> rings;
  Ratio bandwidth;  ///< bandwidth of every ring at the same time, in units of capacity
  Ratio total;      ///< sum over all rings: the bus bandwidth of an all-gather over them
  Ratio bound;      ///< upper bound of `total` by the narrowest cut of these paths

  int count() const;
  bool operator==(const RingPacking&) const = default;
};

struct RingGoal {
  int most_rings = 32;           ///< counted with their multiplicities
  int64_t most_steps = 200'000;  ///< limit of the search: number of ranks from which it continued
};

/// More ranks take too long.
inline constexpr int kMostRingRanks = 64;

/// The best rings that the search found. Errors: invalid_argument for a network that check() refuses, fewer
/// than two ranks or more than kMostRingRanks, and if no ring was found.
Result<RingPacking> pack_rings(const Network& network, const RingGoal& goal = {});

/// The rings, each repeated by its multiplicity.
Rings spelled_out(const RingPacking& packing);

}  // namespace weir::algorithms
