// SPDX-License-Identifier: Apache-2.0
/// Which ranks share a copy of the parameters.
#pragma once

#include <nccl.h>

#include <vector>

#include "src/base/status.h"
#include "trainer/shard/layout.h"
#include "weir/places.h"

namespace weir::shard {

/// Finds out which ranks share a host, and which hosts a leaf switch.
Result<std::vector<weirPlace_t>> places_of_ranks(ncclComm_t comm);

/// Positions of all ranks of `world` under a strategy. HYBRID_SHARD and HPZ: `shard_ranks` consecutive ranks
/// share a copy, or the secondary copy; 0: the ranks of one host. All ranks must pass the same value.
/// invalid_argument if the ranks cannot be divided into groups of one size.
Result<std::vector<Place>> make_places(ncclComm_t world, Strategy strategy, int shard_ranks);

}  // namespace weir::shard
