// SPDX-License-Identifier: Apache-2.0
/// Which ranks share a copy of the parameters.
#pragma once

#include <nccl.h>

#include <vector>

#include "trainer/shard/layout.h"
#include "weir/places.h"
#include "weir/status.h"

namespace weir::shard {

/// Which ranks share a host, and which hosts a leaf.
Result<std::vector<weirPlace_t>> places_of_ranks(ncclComm_t comm);

/// Places of all ranks of `world` under a strategy. HYBRID_SHARD: `shard_ranks` consecutive ranks share a
/// copy, or with 0 those of one host. All ranks give the same. invalid_argument when ranks do not make groups
/// of one size.
Result<std::vector<Place>> make_places(ncclComm_t world, Strategy strategy, int shard_ranks);

}  // namespace weir::shard
