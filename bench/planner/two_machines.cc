// SPDX-License-Identifier: Apache-2.0

#include "bench/planner/two_machines.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace weir::planner_bench {

using topology::FabricSwitchFacts;
using topology::Graph;
using topology::HostFacts;
using topology::Index;
using topology::kNone;
using topology::Link;
using topology::LinkKind;
using topology::Node;
using topology::NodeKind;
using topology::PortFacts;

Graph two_machines(const Graph& machine) {
  Graph two;
  for (int copy = 0; copy < 2; ++copy) {
    const Index first = two.size();
    for (Node node : machine.nodes()) {
      if (node.parent == kNone) node.name += fmt::format(" {}", copy);
      if (node.parent != kNone) node.parent += first;
      if (auto* host = std::get_if<HostFacts>(&node.facts)) host->identity = 0;
      if (auto* port = std::get_if<PortFacts>(&node.facts)) port->guid = 0;
      two.add(std::move(node));
    }
    for (Link link : machine.links()) {
      link.from += first;
      link.to += first;
      two.add(link);
    }
  }
  int rail = 0;
  for (const Index port : machine.all(NodeKind::port)) {
    const double gb_per_s = machine.get<PortFacts>(port)->mbit_per_s / 8000;
    if (gb_per_s <= 0) continue;
    const Index leaf = two.add(fmt::format("rail{}", rail), kNone, FabricSwitchFacts{.level = 1});
    for (const Index end : {port, port + machine.size()})
      two.connect({end, leaf, LinkKind::cable, 1, gb_per_s, 0, rail});
    ++rail;
  }
  return two;
}

}  // namespace weir::planner_bench
