// SPDX-License-Identifier: Apache-2.0
/// All-to-alls for hosts of any number: paths that load the links inside hosts evenly, computed once per
/// shape, and gates that share what enters and leaves.
///
/// Pure, deterministic and thread-safe. Time: about linear in the network, plus the pairs of ranks of each
/// shape of host, plus the pairs of leaf switches.
/// Tests: tests/algorithms/exchange_test.cc
#pragma once

#include <span>

#include "algorithms/cluster/exchange_plan.h"
#include "algorithms/network/network.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// A plan for one host or several. Each rank receives by the gates nearest to it; in hosts with relays, all
/// gates are shared evenly. The last `relays` ranks of the network take no part and only forward. Not judged:
/// see check_exchange() (proof/exchange_proof.h). Errors: invalid_argument for a network that check()
/// refuses, or that cannot be divided into hosts as needed (hosts.h, gates.h, ways.h).
Result<ExchangePlan> plan_exchange(const Network& network, std::span<const char> between_hosts,
                                   int relays = 0);

}  // namespace weir::algorithms
