// SPDX-License-Identifier: Apache-2.0
/// Rings and chains: every rank talks to its two neighbours only, on each of several rings.
///
/// A share of the data starts somewhere, goes around, and is summed or kept where it passes; all shares are
/// under way at once. Best for much data on uniform links: reduce_scatter and all_gather take ranks - 1
/// rounds of 1/ranks of the data, all_reduce twice that; broadcast and reduce are pipelines along the chain
/// that starts or ends at the root.
///
/// Several rings side by side use links that one ring leaves idle. Each has an equal part of every block and
/// lanes of its own; a ring that is there twice carries twice as much.
///
/// A rank handles one share of a ring per round, in the ring's lane round % 2: it sends in one lane what it
/// got in the other, so no rank has to begin and none waits for a round trip. The chunks of a share travel
/// together; the chunks of a chain one by one.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, rings that check_rings() accepts,
/// and as chunks a multiple of their number, for all_reduce of ranks times that. On each ring the sum of
/// share s starts at place s (all_reduce) or s + 1 (reduce_scatter) and goes around; that of reduce starts
/// after the root. Plans over one ring are called "ring".
#pragma once

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"
#include "weir/status.h"

namespace weir::algorithms {

/// More would need more lanes than a rank has.
inline constexpr size_t kMostRings = ir::kMaxLanes / 2;

/// Each place once.
Ring ring_in_order(int places);

/// Success for 1 to kMostRings rings, each of which passes each of the places once; else invalid_argument.
Status check_rings(const Rings& rings, int places);

ir::Plan ring_all_reduce(const ir::Shape& shape, const Rings& rings);
ir::Plan ring_reduce_scatter(const ir::Shape& shape, const Rings& rings);
ir::Plan ring_all_gather(const ir::Shape& shape, const Rings& rings);
ir::Plan ring_broadcast(const ir::Shape& shape, const Rings& rings);
ir::Plan ring_reduce(const ir::Shape& shape, const Rings& rings);

}  // namespace weir::algorithms
