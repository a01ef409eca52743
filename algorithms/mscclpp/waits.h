// SPDX-License-Identifier: Apache-2.0
/// Semaphores between the thread blocks of one GPU.
/// Tests: tests/algorithms/mscclpp_test.cc
#pragma once

#include <cstddef>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/msccl/work_order.h"

namespace weir::mscclpp {

/// The work of a plan (msccl/work_order.h) on thread blocks. Each block does its work in ascending order.
struct BlockPlacement {
  std::vector<int> block;                  ///< index: work; -1: no such work
  std::vector<size_t> blocks;              ///< index: rank; how many it has
  std::vector<std::vector<int>> acquires;  ///< index: work; semaphores of its GPU
  std::vector<std::vector<int>> releases;  ///< index: work
  std::vector<int> semaphores;             ///< index: rank; how many it has
};

/// Lets work wait for work of other blocks of its rank that has to precede it, as far as no other wait
/// implies that. There is a semaphore for every two blocks one of which waits for the other, so that it is
/// released in the order in which it is acquired. REQUIRES: `block` and `blocks`.
void add_semaphores(const ir::Plan& plan, const msccl::WorkOrder& order, BlockPlacement& placement);

/// The rank whose work it is.
inline Rank rank_of(const ir::Plan& plan, size_t work) {
  const ir::Move& move = plan.moves[work / 2];
  return work % 2 == 0 ? move.src : move.dst;
}

}  // namespace weir::mscclpp
