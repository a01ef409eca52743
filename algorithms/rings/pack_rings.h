// SPDX-License-Identifier: Apache-2.0
/// Rings over the ranks of a network that together fill its links as well as rings can.
///
/// All rings get the same bandwidth b. Links are then as wide as b fits into them, rounded down, and what
/// remains is to find as many Hamiltonian cycles as possible, a hop from rank to rank taking a shortest way
/// over switches. Cycles are found by a search in depth; where no more fit, some are taken away and others
/// looked for (ruin and recreate: Schrimpf and others, Journal of Computational Physics 159, 2000). The
/// widths tried are fractions of links, the widest first, where cuts let hope for more than was found before.
///
/// Pure and deterministic; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/catalogue/layout.h"
#include "algorithms/network/network.h"
#include "algorithms/network/ratio.h"
#include "weir/status.h"

namespace weir::algorithms {

/// `multiplicity` equal rings.
struct PackedRing {
  Ring order;  ///< ranks, from rank 0 on
  int multiplicity = 1;
  bool operator==(const PackedRing&) const = default;
};

struct RingPacking {
  std::vector<PackedRing> rings;
  Ratio bandwidth;  ///< that every single ring can have at the same time, in units of capacity
  Ratio total;      ///< of all rings: what an all-gather over them has as bus bandwidth
  Ratio bound;      ///< of `total`, for the narrowest cut of these ways: there may be no rings that reach it

  int count() const;
  bool operator==(const RingPacking&) const = default;
};

struct RingGoal {
  int most_rings = 32;           ///< counted with their multiplicities
  int64_t most_steps = 200'000;  ///< of the search: ranks that it looked on from
};

/// More ranks take too long.
inline constexpr int kMostRingRanks = 64;

/// The best rings that the search found. Errors: invalid_argument for a network that check() refuses, less
/// than two ranks or more than kMostRingRanks, and where no ring was found.
Result<RingPacking> pack_rings(const Network& network, const RingGoal& goal = {});

/// Each ring as often as its multiplicity says.
Rings spelled_out(const RingPacking& packing);

}  // namespace weir::algorithms
