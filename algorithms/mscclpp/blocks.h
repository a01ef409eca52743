// SPDX-License-Identifier: Apache-2.0
/// Plans as thread blocks of MSCCL++.
/// Tests: tests/algorithms/mscclpp_test.cc
#pragma once

#include <span>

#include "algorithms/ir/plan.h"
#include "algorithms/mscclpp/execution_plan.h"
#include "src/base/status.h"

namespace weir::mscclpp {

/// The operations of all blocks; hosts[r] is the host of rank r. Every block begins by telling the blocks
/// that write into its memory that this GPU's kernel runs. Blocks take over lanes: each one carries out a
/// part of the moves of a lane, in list order; lanes share blocks where a GPU would need too many. A block
/// only ever waits for what comes earlier in the list, so that nothing comes to a standstill. REQUIRES:
/// ir::verify(plan) succeeded. Errors: invalid_argument if a GPU needs more than kMostBlocks blocks.
Result<ExecutionPlan> blocks_of(const ir::Plan& plan, std::span<const int> hosts);

}  // namespace weir::mscclpp
