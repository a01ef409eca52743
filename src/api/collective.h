// SPDX-License-Identifier: Apache-2.0
/// Issues a collective for a function of the interface.
/// Tests: tests/api/msccl_test.cc
#pragma once

#include "src/api/handle.h"
#include "src/core/call/operation.h"

namespace weir::api {

/// Checks the call, and carries it out or adds it to the open group. `type` and `op`: the numbers that the
/// caller passed, of which the operation gets its type and its reduction. `stream`: a stream of CUDA or HIP,
/// or null. Called by the thread that calls the interface.
Status issue_collective(const core::CollectiveOp& call, int type, int op, ncclComm_t comm, void* stream);

}  // namespace weir::api
