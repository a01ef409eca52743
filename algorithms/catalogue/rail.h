// SPDX-License-Identifier: Apache-2.0
/// Collectives along rails. All-to-all: a block for another host first goes, inside its own host, to the rank
/// with the same position as its destination, and from there to the other host. Between hosts only ranks with
/// the same position exchange data, so that no block leaves its rail (NCCL calls that PXN), and each rank has
/// one peer per host instead of one per rank. Gather and scatter: a block goes through the rank of the root's
/// host with the same position, so that all NICs of that host are used and not only the root's.
///
/// Hosts are the narrowest groups. If they differ in size, the ranks of the smaller ones alternate. Lane 0
/// sends, lane 1 receives; lane 2 of a rank receives blocks that it forwards to other hosts.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, levels that check_levels() accepts.
/// Any number of chunks.
/// Tests: tests/algorithms/rail_test.cc
#pragma once

#include <span>

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"

namespace weir::algorithms {

ir::Plan rail_all_to_all(const ir::Shape& shape, std::span<const Groups> levels);
ir::Plan rail_gather(const ir::Shape& shape, std::span<const Groups> levels);
ir::Plan rail_scatter(const ir::Shape& shape, std::span<const Groups> levels);

}  // namespace weir::algorithms
