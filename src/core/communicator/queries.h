// SPDX-License-Identifier: Apache-2.0
/// Questions about a communicator. By the thread that runs operations; each returns an error that says why,
/// where the communicator is not connected.
/// Tests: tests/api/shrink_test.cc, tests/api/net_stats_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/base/sum_order.h"
#include "src/core/bootstrap/bootstrap.h"
#include "src/core/call/operation.h"
#include "src/core/call/rank_place.h"

namespace weir::core {

class Communicator;

/// How each rank looks from here, by rank (Bootstrap::presences).
Result<std::vector<Presence>> presences_of(const Communicator& communicator);
/// Where the ranks are, by rank.
Result<std::vector<RankPlace>> places_of(const Communicator& communicator);
/// The order of its sums, the same on all ranks.
Result<SumOrder> order_of(const Communicator& communicator);
/// How long a rank that runs may keep the others waiting in a call, from now on; 0: for ever.
Status set_stuck_timeout(const Communicator& communicator, int64_t ms);
/// Seconds that operations of one call or group are predicted to take, by the costs that choose plans
/// (algorithms/cost): collectives one after the other, sends and receives side by side, at the place of the
/// first. Where the job pretends to run on a cluster, those that it pretends. Errors: as Communicator::run;
/// invalid_usage where a rank uses a GPU, whose costs are not known.
Result<double> predict(const Communicator& communicator, std::span<const Operation> operations);

}  // namespace weir::core
