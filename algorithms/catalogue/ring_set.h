// SPDX-License-Identifier: Apache-2.0
/// Rings and chains: every rank exchanges data only with its two neighbours, on each of several rings.
///
/// A share of the data starts at one rank, moves around the ring, and is added or stored at each rank; all
/// shares are in flight at once. Best for large messages on uniform links: reduce_scatter and all_gather take
/// ranks - 1 rounds of 1/ranks of the data, all_reduce twice that; broadcast and reduce are pipelines along
/// the chain that starts or ends at the root.
///
/// Several parallel rings use links that one ring leaves idle. Each has an equal part of every block and
/// lanes of its own; a ring that occurs twice carries twice as much data.
///
/// A rank handles one share of a ring per round, in the ring's lane round % 2: it sends in one lane what it
/// received in the other, so that no rank has to begin and none waits for a round trip. The chunks of a share
/// move together; the chunks of a chain one by one.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, rings that check_rings() accepts,
/// and a number of chunks that is a multiple of the number of rings, for all_reduce of ranks times that. On
/// each ring the sum of share s starts at position s (all_reduce) or s + 1 (reduce_scatter) and moves around;
/// that of reduce starts after the root. Plans over one ring are named "ring".
/// Tests: tests/algorithms/ring_set_test.cc
#pragma once

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// More rings would need more lanes than a rank has.
inline constexpr size_t kMostRings = ir::kMaxLanes / 2;

/// The order of positions on a ring, each once.
Ring ring_in_order(int places);

/// Success for 1 to kMostRings rings that contain each position once; else invalid_argument.
Status check_rings(const Rings& rings, int places);

ir::Plan ring_all_reduce(const ir::Shape& shape, const Rings& rings);
ir::Plan ring_reduce_scatter(const ir::Shape& shape, const Rings& rings);
ir::Plan ring_all_gather(const ir::Shape& shape, const Rings& rings);
ir::Plan ring_broadcast(const ir::Shape& shape, const Rings& rings);
ir::Plan ring_reduce(const ir::Shape& shape, const Rings& rings);

}  // namespace weir::algorithms
