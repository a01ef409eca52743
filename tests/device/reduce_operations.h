// SPDX-License-Identifier: Apache-2.0
/// The operations that reductions are tested with.
#pragma once

#include "src/base/types.h"

namespace weir::device {

inline constexpr RedOp kOps[] = {RedOp::sum, RedOp::prod, RedOp::max, RedOp::min};

}  // namespace weir::device
