// SPDX-License-Identifier: Apache-2.0
/// A machine or a cluster in a line, and the network between its GPUs.
#pragma once

#include <string>
#include <vector>

#include "algorithms/cluster/hosts.h"
#include "algorithms/network/network.h"
#include "topology/formats/synthetic.h"

namespace weir::algorithms {

struct Line {
  explicit Line(const std::string& text)
      : graph(topology::graph_of(*topology::read_synthetic({"line", text}))),
        network(*network_of(graph, graph.all(topology::NodeKind::gpu))),
        between_hosts(switches_between_hosts(network, graph)) {}
  topology::Graph graph;
  Network network;
  std::vector<char> between_hosts;
};

}  // namespace weir::algorithms
