// SPDX-License-Identifier: Apache-2.0
/// The GPUs of a host once more, on rings, for the links that join them directly.
#pragma once

#include <vector>

#include "topology/views/pen.h"

namespace weir::topology {

struct RingPanel {
  std::vector<int> circles;  ///< by box of a device: its box on a ring, or -1
  double right = 0;          ///< where the panel ends
  double bottom = 0;
  int64_t left_out = 0;  ///< GPUs on rings that are too long to draw
};

/// Draws `rings` (lists of GPUs) below `top`, between `left` and `right`, with a few words at the left.
/// `place`: by node its box. `links`: bundles(graph, place).
RingPanel add_rings(Pen& pen, const std::vector<std::vector<Index>>& rings, const std::vector<int>& place,
                    const std::vector<Bundle>& links, double left, double right, double top);

}  // namespace weir::topology
