// SPDX-License-Identifier: Apache-2.0
/// Rings inside rings: of the widest groups (leaves), of the groups inside each (hosts), and so on to ranks.
///
/// A block is handed around the ring of the widest groups, to one rank of each, and whoever got it hands it
/// around the ring of the next groups inside its own. So a group of any level receives each block of others
/// once, which is the least, and so does a rank. The ranks of a group take turns to be the one: they carry
/// equal shares, and of equal groups those with the same place talk to each other, as rails like it.
/// reduce_scatter is the same backwards, sums instead of copies: one partial sum per block of others leaves a
/// group. all_reduce is both, a share of the block per rank.
///
/// A rank handles a block in one step: it keeps it, passes it on and hands it to the groups inside, or adds
/// up what comes from all of these; there is no scratch. Lane 0 has the own blocks. Each level has two lanes
/// that take turns in the rounds of its rings, so that a level works on one tile while the next is busy with
/// the one before it; and more where a rank of a small group gets several blocks in a round. The order of
/// sums depends on the groups alone.
///
/// Equal groups load all links evenly in every round, uneven ones only over all rounds.
///
/// Pure. REQUIRES: shape.kind is the collective of the name, ranks >= 2, a multiple of `ranks` as chunks for
/// all_reduce, and levels that check_levels() accepts.
#pragma once

#include <span>

#include "algorithms/catalogue/layout.h"
#include "algorithms/ir/plan.h"
#include "weir/status.h"

namespace weir::algorithms {

/// Whether plans can be made of these groups: as Layout::levels, at least one level, and no more than there
/// are lanes for. Errors: invalid_argument.
Status check_levels(std::span<const Groups> levels, int ranks);

ir::Plan hierarchical_all_reduce(const ir::Shape& shape, std::span<const Groups> levels);
ir::Plan hierarchical_reduce_scatter(const ir::Shape& shape, std::span<const Groups> levels);
ir::Plan hierarchical_all_gather(const ir::Shape& shape, std::span<const Groups> levels);

}  // namespace weir::algorithms
