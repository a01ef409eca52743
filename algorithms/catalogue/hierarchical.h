// SPDX-License-Identifier: Apache-2.0
/// Rings inside rings: over the widest groups (leaves), over the groups inside each (hosts), and so on down
/// to ranks.
///
/// A block is passed around the ring of the widest groups, to one rank of each, and that rank passes it
/// around the ring of the next groups inside its own. Thus a group of any level receives each foreign block
/// once, which is the minimum, and so does a rank. The ranks of a group receive in turn: they have equal
/// shares, and ranks of equal groups exchange data with ranks of the same position, as rails require.
/// reduce_scatter is the same backwards, with sums instead of copies: one partial sum per foreign block
/// leaves a group. all_reduce is both, with a share of the block per rank.
///
/// A rank handles a block in one step: it stores it, passes it on and passes it to the groups inside, or adds
/// up what comes from all of these; there is no scratch. Lane 0 has the rank's own blocks. Each level has two
/// lanes that alternate between the rounds of its rings, so that a level works on one tile while the next
/// level works on the previous tile; there are more lanes if a rank of a small group gets several blocks in a
/// round. The order of sums depends only on the groups.
///
/// Equal groups load all links evenly in every round, unequal ones only over all rounds.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, for all_reduce a number of chunks
/// that is a multiple of `ranks`, and levels that check_levels() accepts.
/// Tests: tests/algorithms/hierarchical_test.cc
#pragma once

#include <span>

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// Whether plans can be made for these groups: at least one level as in Layout::levels, and no more than
/// there are lanes for. Errors: invalid_argument.
Status check_levels(std::span<const Groups> levels, int ranks);

ir::Plan hierarchical_all_reduce(const ir::Shape& shape, std::span<const Groups> levels);
ir::Plan hierarchical_reduce_scatter(const ir::Shape& shape, std::span<const Groups> levels);
ir::Plan hierarchical_all_gather(const ir::Shape& shape, std::span<const Groups> levels);

}  // namespace weir::algorithms
