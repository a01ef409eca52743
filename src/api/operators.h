// SPDX-License-Identifier: Apache-2.0
/// Reduction operators: NCCL's five, and those that a user makes per communicator.
///
/// An operator is a plain number here: callers may pass any. Used by the communicator's own thread.
#pragma once

#include "src/api/handle.h"
#include "weir/status.h"

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

/// What `op` means for operands of `type`; a scalar of ncclScalarDevice is not read yet (premultiply_later).
/// invalid_argument, for `function`, when it is no operator of this
/// communicator or of another type.
Status find_reduction(const HandleState& state, int op, DataType type, const char* function,
                      core::Reduction& reduction);

/// Reads the scalar, from host memory. REQUIRES: premultiply_later.
void read_factor(core::Reduction& reduction, DataType type);
Status device_scalar_on_stream(const char* function);

}  // namespace weir::api
