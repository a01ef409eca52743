// SPDX-License-Identifier: Apache-2.0
/// Draws the GPUs of a host a second time, on rings, with the links that connect them directly.
/// Tests: tests/topology/views_test.cc
#pragma once

#include <vector>

#include "topology/views/pen.h"

namespace weir::topology {

struct RingPanel {
  std::vector<int> circles;  ///< index: box of a device; its box on a ring, or -1
  double right = 0;          ///< right edge of the panel
  double bottom = 0;
  int64_t left_out = 0;  ///< number of GPUs on rings that are too long to draw
};

/// Draws `rings` (lists of GPUs) below `top`, between `left` and `right`, with a short text at the left.
/// `place`: the box of each node. `links`: bundles(graph, place).
RingPanel add_rings(Pen& pen, const std::vector<std::vector<Index>>& rings, const std::vector<int>& place,
                    const std::vector<Bundle>& links, double left, double right, double top);

}  // namespace weir::topology
