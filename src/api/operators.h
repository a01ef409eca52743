// SPDX-License-Identifier: Apache-2.0
/// Reduction operators: NCCL's five, and those that a user makes per communicator.
///
/// An operator is a plain int here, since callers may pass any number. Used by the thread inside the
/// communicator.
/// Tests: tests/api/collectives_test.cc, tests/api/errors_test.cc
#pragma once

#include "src/api/handle.h"
#include "src/base/status.h"

namespace weir::api {

inline bool is_builtin(int op) { return static_cast<unsigned>(op) < ncclNumOps; }

/// REQUIRES: is_builtin(op).
inline core::Reduction builtin_reduction(int op) {
  core::Reduction reduction;
  if (op == ncclAvg) {
    reduction.scaling = core::Reduction::Scaling::average;
  } else {
    reduction.op = static_cast<RedOp>(op);
  }
  return reduction;
}

/// The reduction of `op` for operands of `type`; a scalar of ncclScalarDevice is not read yet
/// (Reduction::factor_at). invalid_argument, naming `function`, if `op` is not an operator of this
/// communicator, or is of another type.
Status find_reduction(const HandleState& state, int op, DataType type, const char* function,
                      core::Reduction& reduction);

Status device_scalar_on_stream(const char* function);

}  // namespace weir::api
