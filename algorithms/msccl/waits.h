// SPDX-License-Identifier: Apache-2.0
/// Waits between the thread blocks of one GPU.
/// Tests: tests/algorithms/msccl_test.cc
#pragma once

#include "algorithms/msccl/blocks.h"

namespace weir::msccl {

/// Lets each step wait for the steps of other blocks of its GPU that access the same memory before it, as
/// far as no other wait implies that. REQUIRES: steps in an executable order (MscclStep::order), without
/// waits.
void add_waits(const ir::Plan& plan, Blocks& blocks);

}  // namespace weir::msccl
