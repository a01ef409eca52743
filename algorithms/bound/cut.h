// SPDX-License-Identifier: Apache-2.0
/// The cut that limits a collective most: a set of nodes and the data that must enter or leave it.
/// Tests: tests/algorithms/bound_test.cc, tests/algorithms/packing_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/network/max_flow.h"
#include "algorithms/network/network.h"
#include "algorithms/network/ratio.h"
#include "src/base/status.h"
#include "src/base/types.h"

namespace weir::algorithms {

struct Cut {
  Ratio ratio;                  ///< capacity into `inside` over the weight outside of it
  std::vector<int32_t> inside;  ///< nodes, ascending
};

/// Rank r sends `weights[r]` (at least 0), and each rank of `sinks` must receive all of it. Among all sets of
/// nodes with a sink inside and weight outside, finds the one with the least entering capacity per weight
/// outside, exactly. With Direction::against the leaving capacity counts.
///
/// Discrete Newton iteration (Dinkelbach, Management Science 13, 1967) over max-flows: if the flow to a sink
/// is below the assumed ratio, its minimum cut has a smaller ratio, which is assumed from then on. Sinks that
/// have passed become unlimited sources (Hao and Orlin, J. Algorithms 17, 1994): sets that contain them are
/// known to be no worse. No sink is therefore examined twice, and late flows are short.
///
/// REQUIRES: check(network). Errors: invalid_argument if there is no such set, or if a rank cannot be
/// reached; the sentence names it.
Result<Cut> narrowest_cut(const Network& network, std::span<const int64_t> weights,
                          std::span<const Rank> sinks, Direction direction);

}  // namespace weir::algorithms
