// SPDX-License-Identifier: Apache-2.0
/// The network between ranks in host memory, of which several may be on one host. Pure.
/// Tests: tests/algorithms/network_topology_test.cc
#pragma once

#include <span>

#include "algorithms/network/network.h"
#include "src/base/status.h"
#include "topology/model/graph.h"

namespace weir::algorithms {

/// The network of cables between the hosts of ranks; `hosts[r]` is the host of rank r. What hosts contain is
/// ignored: the cables of a host's NICs are cables of the host. A rank that is alone on its host is at the
/// host's node. Several ranks of a host have nodes of their own, each with a link of `memory_gb_per_s` to the
/// host's node and from it: what a rank writes into memory that the others read. Errors: those of
/// network_of(); invalid_argument for cables of unknown speed and for a `memory_gb_per_s` that is not above
/// 0.
Result<Network> network_of_hosts(const topology::Graph& graph, std::span<const topology::Index> hosts,
                                 double memory_gb_per_s);

}  // namespace weir::algorithms
