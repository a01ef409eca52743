/// Which ranks share a copy of the parameters.
#pragma once

#include <nccl.h>

#include <vector>

#include "trainer/shard/layout.h"
#include "weir/status.h"

namespace weir::shard {

/// Places of all ranks of `world` under a strategy. HYBRID_SHARD: `shard_ranks` consecutive ranks share a
/// copy, or with 0 those of one host (NCCL_HOSTID, else host name and boot id). Collective: all ranks give
/// the same. invalid_argument when ranks do not make groups of one size.
Result<std::vector<Place>> make_places(ncclComm_t world, Strategy strategy, int shard_ranks);

}  // namespace weir::shard
