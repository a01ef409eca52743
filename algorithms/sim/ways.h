// SPDX-License-Identifier: Apache-2.0
/// The ways that the moves of a plan take in a network.
///
/// Pure.
/// Tests: tests/cli/ways_test.cc, tests/algorithms/sim_routes_test.cc
#pragma once

#include "algorithms/ir/plan.h"
#include "algorithms/network/network.h"
#include "src/base/status.h"

namespace weir::sim {

/// Names the way of each move between two ranks, as the simulator routes it; a simulation of the plan gives
/// the same times as before. Moves over links of several kinds inside a host keep `any`. REQUIRES: as
/// loads_of(). Errors: a rank without a path.
Status name_ways(ir::Plan& plan, const algorithms::Network& network);

/// Whether each move's way exists. Errors: invalid_argument, with the number of the first move whose way does
/// not.
Status check_ways(const ir::Plan& plan, const algorithms::Network& network);

/// Whether a move between hosts passes other ranks, as to a NIC of another rail over the GPU beside it. These
/// would have to forward what they do not know of.
bool needs_forwarding(const ir::Plan& plan, const algorithms::Network& network);

}  // namespace weir::sim
