// SPDX-License-Identifier: Apache-2.0
/// Ranks that use each other's buffers, without slots and without scratch in between: each reads the inputs
/// of all others where they are, and writes results where they belong. For ranks that address each other's
/// memory, and data that is not small: everybody waits for everybody at the beginning and at the end.
///
/// Each chunk of a result is made by one rank, which alone reads it and writes it everywhere, so the plans
/// may run in place. Sums begin at that rank and go on in rank order. Everything is in lane 0.
///
/// Not in the catalogue, whose plans run between any ranks. Pure.
#pragma once

#include "algorithms/ir/plan.h"

namespace weir::algorithms {

/// Chunks per block of the plan for a collective.
uint32_t direct_chunks(Collective kind, int ranks);

/// The plan of any collective over `ranks`. REQUIRES: ranks >= 2.
ir::Plan direct(Collective kind, int ranks, Rank root);

}  // namespace weir::algorithms
