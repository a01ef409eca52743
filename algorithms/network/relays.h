// SPDX-License-Identifier: Apache-2.0
/// Networks in which GPUs that have no rank forward what others send, as relays.
///
/// Pure and thread-safe.
/// Tests: tests/algorithms/network_topology_test.cc
#pragma once

#include <span>

#include "algorithms/network/network.h"
#include "src/base/status.h"
#include "topology/model/graph.h"

namespace weir::algorithms {

/// network_of() with Ways::of_driver, where all GPUs and partitions may be on the way. Errors: the same.
Result<Network> network_with_relays(const topology::Graph& graph, std::span<const topology::Index> devices);

/// The number of GPUs and partitions of a network that have no rank, and no partition with one.
int relays_in(const Network& network, const topology::Graph& graph);

/// The same network, where those of hosts with ranks are further ranks, at the end: they forward what they
/// have received in whole messages.
Network with_relays_as_ranks(const Network& network, const topology::Graph& graph);

}  // namespace weir::algorithms
