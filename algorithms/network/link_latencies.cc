// SPDX-License-Identifier: Apache-2.0

#include "algorithms/network/link_latencies.h"

#include <array>

#include "src/base/index.h"

namespace weir::algorithms {

void set_latencies(Network& network, const topology::Graph& graph, const topology::Latencies& assumed) {
  network.latencies.clear();
  for (const Edge& edge : network.edges)
    network.latencies.push_back(topology::latency_of(graph, graph.links()[at(edge.link)], assumed) * 1e-6);
}

std::string latency_words(const Network& network, const topology::Latencies& assumed) {
  std::array<bool, topology::kLinkKinds> kinds{};
  for (const topology::LinkKind kind : network.link_kinds) kinds[static_cast<size_t>(kind)] = true;
  return topology::words_of(assumed, kinds);
}

}  // namespace weir::algorithms
