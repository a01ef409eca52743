// SPDX-License-Identifier: Apache-2.0
/// Judges plans for all-to-alls independently of the planner: shares no code with it, and computes only sums.
///
/// In every host, each path is followed edge by edge: from a rank to each other one, to a switch between
/// hosts, and from there. The parts by which a rank receives are whole blocks, and so are those by which each
/// plane takes what a rank sends. What leaves at one switch and enters at another follows from these sums,
/// because every rank sends an equal block to every other; pairs of ranks need not be enumerated.
///
/// Pure and thread-safe. Time: linear in the ranks times the ranks of a host, plus the pairs of switches.
/// Tests: tests/algorithms/exchange_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cluster/exchange_plan.h"
#include "algorithms/network/ratio.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// The load of a valid plan on the network.
struct ExchangeLoads {
  std::vector<Int128> units;  ///< index: edge
  Int128 whole = 1;           ///< units of the blocks of one rank for all ranks, as in M
  Ratio time;                 ///< T / M, times one unit of capacity, as in Bound
  int32_t tightest = -1;      ///< the edge that takes that long
};

/// Proves that a plan brings a block from each rank to each other one, but for the last `relays` ranks, which
/// only forward. Errors: invalid_argument with the first problem and its position.
Result<ExchangeLoads> check_exchange(const Network& network, const ExchangePlan& plan, int relays = 0);

}  // namespace weir::algorithms
