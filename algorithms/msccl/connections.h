// SPDX-License-Identifier: Apache-2.0
/// Which thread blocks of MSCCL carry out which moves of a plan.
/// Tests: tests/algorithms/msccl_test.cc
#pragma once

#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/msccl/blocks.h"
#include "algorithms/msccl/work_order.h"
#include "src/base/status.h"

namespace weir::msccl {

/// Limits of MSCCL's runtime (src/include/msccl/msccl_struct.h of Azure/msccl-executor-nccl), except for
/// blocks: the reader accepts as many as a rank of a plan has lanes.
inline constexpr size_t kMostBlocks = ir::kMaxLanes;
inline constexpr int kMostChannels = 32;
inline constexpr int kMostPeersPerChannel = 32;

struct Connections {
  int channels = 1;
  std::vector<int> channel;                   ///< index: move
  std::vector<int> send_in;                   ///< index: move; the block of its source, or of a local move
  std::vector<int> receive_in;                ///< index: move; the block of its destination
  std::vector<std::vector<MscclBlock>> gpus;  ///< blocks without steps
};

/// A value that is sent on stays on its channel, and its blocks are those that both receive and send it where
/// this is possible. Lanes share channels, and blocks send and receive unrelated data, only where a GPU would
/// have too many blocks otherwise. Errors: invalid_argument if a GPU has more peers than blocks.
Result<Connections> connect(const ir::Plan& plan, const WorkOrder& order);

}  // namespace weir::msccl
