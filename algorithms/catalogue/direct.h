// SPDX-License-Identifier: Apache-2.0
/// Collectives in which ranks use each other's buffers directly, without slots and scratch: each rank reads
/// the inputs of all others in place, and writes results to their destinations. For ranks that can address
/// each other's memory, and messages that are not small: all ranks synchronise at the beginning and at the
/// end.
///
/// Each chunk of a result is computed by one rank, which alone reads its inputs and writes it everywhere, so
/// that the plans may run in place. Sums begin at that rank and continue in rank order. Everything is in lane
/// 0.
///
/// Not in the catalogue, whose plans can run between any ranks. Pure.
/// Tests: tests/algorithms/catalogue_test.cc
#pragma once

#include "algorithms/ir/plan.h"

namespace weir::algorithms {

/// Chunks per block of a collective's plan.
uint32_t direct_chunks(Collective kind, int ranks);

/// The plan of any collective over `ranks`. REQUIRES: ranks >= 2.
ir::Plan direct(Collective kind, int ranks, Rank root);

}  // namespace weir::algorithms
