// SPDX-License-Identifier: Apache-2.0
/// How ranks agree on the outcome of a step: each tells the others its Status.
#pragma once

#include <nccl.h>

#include "src/base/status.h"

namespace weir::checkpoint {

/// Success on all ranks if all ranks succeeded; otherwise, on all ranks, the error of the lowest failed rank,
/// prefixed with that rank. Collective.
Status agree(ncclComm_t world, const Status& own);

}  // namespace weir::checkpoint
