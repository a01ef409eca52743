// SPDX-License-Identifier: Apache-2.0
/// The cut that limits a collective most: a set of nodes and what has to get into it, or out of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/network/max_flow.h"
#include "algorithms/network/network.h"
#include "algorithms/network/ratio.h"
#include "src/base/types.h"
#include "weir/status.h"

namespace weir::algorithms {

struct Cut {
  Ratio ratio;                  ///< capacity into `inside` over the weight outside of it
  std::vector<int32_t> inside;  ///< nodes, ascending
};

/// Ranks have something to send, `weights[rank]` each (at least 0), and each rank of `sinks` has to get all
/// of it. Of all sets of nodes with a sink inside and weight outside: the one with the least capacity
/// entering it per weight outside of it, exactly. With Direction::against capacity that leaves counts.
///
/// Discrete Newton iteration (Dinkelbach, Management Science 13, 1967) over max-flows: where the flow to a
/// sink falls short of the ratio assumed, its minimum cut has a lesser ratio, which is assumed from then on.
/// What has passed sends as much as one likes afterwards (Hao and Orlin, J. Algorithms 17, 1994): sets with
/// it inside are known to be no worse. So no sink is looked at twice, and late flows are short.
///
/// REQUIRES: check(network). Errors: invalid_argument where there is no such set, or a rank cannot be
/// reached; the sentence names it.
Result<Cut> narrowest_cut(const Network& network, std::span<const int64_t> weights,
                          std::span<const Rank> sinks, Direction direction);

}  // namespace weir::algorithms
