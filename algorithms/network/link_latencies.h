// SPDX-License-Identifier: Apache-2.0
/// Gives the links of a network the latencies that simulations use; bounds and packings do not look at them.
///
/// Pure and thread-safe.
/// Tests: tests/algorithms/network_topology_test.cc
#pragma once

#include <string>

#include "algorithms/network/network.h"
#include "topology/model/latencies.h"

namespace weir::algorithms {

/// Those of the links of `graph`, from which the network was made (topology::latency_of()).
void set_latencies(Network& network, const topology::Graph& graph, const topology::Latencies& assumed);

/// What was assumed for the kinds of links that the network has, in one line.
std::string latency_words(const Network& network, const topology::Latencies& assumed);

}  // namespace weir::algorithms
