// SPDX-License-Identifier: Apache-2.0
/// Ranks tell each other how it went.
#pragma once

#include <nccl.h>

#include "weir/status.h"

namespace weir::checkpoint {

/// Success on all ranks if it is success on all; else on all the error of the first rank that has one, with
/// the rank in front. Collective.
Status agree(ncclComm_t world, const Status& own);

}  // namespace weir::checkpoint
