// SPDX-License-Identifier: Apache-2.0
/// Along rails. All-to-all: a block for another host goes first, inside its own, to the rank with the same
/// place in its host as the one that it is for, and from there across. Between hosts only ranks with the same
/// place talk to each other, so that no block leaves its rail (NCCL's name for that is PXN), and each has one
/// partner per host instead of one per rank. Gather and scatter: a block crosses to, or from, the rank of the
/// root's host with the same place, so that all NICs of that host work and not the root's alone.
///
/// Hosts are the narrowest groups. Where they differ in size, the ranks of the smaller one take turns. Lane 0
/// sends, lane 1 receives; lane 2 of a rank receives what it hands on to other hosts.
///
/// Pure. REQUIRES: shape.kind as the name says, ranks >= 2, levels that check_levels() accepts. Any number of
/// chunks.
#pragma once

#include <span>

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"

namespace weir::algorithms {

ir::Plan rail_all_to_all(const ir::Shape& shape, std::span<const Groups> levels);
ir::Plan rail_gather(const ir::Shape& shape, std::span<const Groups> levels);
ir::Plan rail_scatter(const ir::Shape& shape, std::span<const Groups> levels);

}  // namespace weir::algorithms
