// SPDX-License-Identifier: Apache-2.0
/// Judges tree packings independently of the code that finds them: it shares no code with it, and computes
/// only sums.
///
/// A valid packing delivers the data of each rank exactly once to every other rank, over existing edges and
/// within their capacities.
///
/// Pure and thread-safe; time is linear in the input.
/// Tests: tests/algorithms/packing_proof_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/packing/trees.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// The load of a valid packing on the network.
struct TreeLoads {
  std::vector<int64_t> trees;  ///< index: edge; number of trees that pass, counted with their multiplicities
  int32_t tightest = -1;       ///< the edge with the least spare capacity; -1 if no tree has an edge
  Rational use;                ///< used fraction of the tightest edge's capacity: at most 1
};

/// Proves that a packing is valid. Errors: invalid_argument for an invalid network (check()), and with the
/// first problem: the tree (from 0) and its edge, or the rank, or the edge of the network.
Result<TreeLoads> check_packing(const Network& network, const Packing& packing);

/// Proves that two packings that run at the same time are valid: `reversed_packing`, of the reversed network,
/// sums what `packing` spreads. Both therefore have equal numbers of trees per root and equal bandwidths, and
/// together they stay within the capacities. Errors: as above.
Result<TreeLoads> check_both(const Network& network, const Packing& reversed_packing, const Packing& packing);

}  // namespace weir::algorithms
