/// Rings and chains: every rank talks to its two neighbours only.
///
/// A share of the data starts somewhere, goes around, and is summed or kept where it passes; all shares are
/// under way at once. Best for much data on uniform links: reduce_scatter and all_gather take ranks - 1
/// rounds of 1/ranks of the data, all_reduce twice that; broadcast and reduce are pipelines along the chain
/// that starts or ends at the root.
///
/// A rank handles one share per round, in lane round % 2: it sends in one lane what it got in the other, so
/// no rank has to begin and none waits for a round trip. The chunks of a share travel together; the chunks of
/// a chain one by one.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, and a multiple of `ranks` as chunks
/// for all_reduce. The sum of share s starts at rank s (all_reduce) or s + 1 (reduce_scatter) and takes the
/// ranks in ring order; reduce starts at root + 1.
#pragma once

#include "algorithms/ir/plan.h"

namespace weir::algorithms {

ir::Plan ring_all_reduce(const ir::Shape& shape);
ir::Plan ring_reduce_scatter(const ir::Shape& shape);
ir::Plan ring_all_gather(const ir::Shape& shape);
ir::Plan ring_broadcast(const ir::Shape& shape);
ir::Plan ring_reduce(const ir::Shape& shape);

}  // namespace weir::algorithms
