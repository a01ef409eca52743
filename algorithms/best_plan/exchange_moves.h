// SPDX-License-Identifier: Apache-2.0
/// The moves of an all-to-all that was planned by paths: ranks on a path forward what passes.
/// Tests: tests/algorithms/exchange_test.cc
#pragma once

#include "algorithms/cluster/exchange_plan.h"
#include "algorithms/ir/plan.h"
#include "algorithms/network/network.h"

namespace weir::algorithms {

/// Named "routed". Between ranks, moves take the shortest routes. The last `relays` ranks are those of the
/// plan (ir::Shape::relays). Not verified: see ir::verify(). REQUIRES: check_exchange()
/// (proof/exchange_proof.h) accepts the plan for that network and as many relays.
ir::Plan moves_of(const Network& network, const ExchangePlan& plan, int relays = 0);

}  // namespace weir::algorithms
