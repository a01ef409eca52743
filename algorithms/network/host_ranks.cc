// SPDX-License-Identifier: Apache-2.0

#include "algorithms/network/host_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace weir::algorithms {
namespace {

using topology::Graph;
using topology::Index;
using topology::kNone;
using topology::NodeKind;

/// Only hosts, switches between them, and cables.
struct Cabling {
  Graph graph;
  std::vector<Index> origin;  ///< index: node; that of the whole graph
};

Result<Cabling> cabling_of(const Graph& whole) {
  Cabling cabling;
  std::vector<Index> node_of(static_cast<size_t>(whole.size()), kNone);
  for (Index node = 0; node < whole.size(); ++node) {
    const NodeKind kind = whole[node].kind();
    if (kind != NodeKind::host && kind != NodeKind::fabric_switch) continue;
    node_of[static_cast<size_t>(node)] = cabling.graph.add(whole[node].name, kNone, whole[node].facts);
    cabling.origin.push_back(node);
  }
  const auto outside = [&](Index node) {
    if (const Index host = whole.holder(node, NodeKind::host); host != kNone) node = host;
    return node_of[static_cast<size_t>(node)];
  };
  for (topology::Link link : whole.links()) {
    if (link.kind != topology::LinkKind::cable) continue;
    const Index from = outside(link.from), to = outside(link.to);
    if (from == kNone || to == kNone || from == to) continue;
    if (link.gb_per_s <= 0)
      return Status(Code::invalid_argument,
                    fmt::format("the cable from {} to {} has no known bandwidth: expected GB/s above 0",
                                whole.describe(link.from), whole.describe(link.to)));
    link.from = from;
    link.to = to;
    cabling.graph.add(link);
  }
  return cabling;
}

}  // namespace

Result<Network> network_of_hosts(const topology::Graph& graph, std::span<const Index> hosts,
                                 double memory_gb_per_s) {
  const double units = std::round(memory_gb_per_s / kCapacityUnit);
  if (!(units >= 1) || units >= 0x1p62)
    return Status(
        Code::invalid_argument,
        fmt::format("ranks of one host exchange {} GB/s: expected a rate above 0", memory_gb_per_s));
  auto cabling = cabling_of(graph);
  WEIR_TRY(cabling.status());
  const auto node_in_cabling = [&](Index node) {
    return static_cast<Index>(std::ranges::lower_bound(cabling->origin, node) - cabling->origin.begin());
  };
  std::vector<Index> each;  // every host once, in the order of its lowest rank
  std::map<Index, size_t> number;
  std::vector<int> ranks_on;
  for (const Index host : hosts) {
    const auto [known, added] = number.try_emplace(host, each.size());
    if (added) {
      each.push_back(node_in_cabling(host));
      ranks_on.push_back(0);
    }
    ++ranks_on[known->second];
  }
  auto network = network_of(cabling->graph, each);
  WEIR_TRY(network.status());
  for (Index& node : network->origin) node = cabling->origin[static_cast<size_t>(node)];
  for (Edge& edge : network->edges) edge.link = -1;
  const std::vector<int32_t> node_of = std::move(network->rank_nodes);
  network->rank_nodes.clear();
  const auto capacity = static_cast<int64_t>(units);
  for (const Index host : hosts) {
    const size_t which = number.at(host);
    if (ranks_on[which] == 1) {
      network->rank_nodes.push_back(node_of[which]);
      continue;
    }
    const int32_t own = network->nodes++;
    network->rank_nodes.push_back(own);
    network->origin.push_back(host);
    for (const auto& [from, to] : {std::pair(own, node_of[which]), std::pair(node_of[which], own)}) {
      network->edges.push_back({from, to, capacity, -1});
      network->link_kinds.push_back(topology::LinkKind::inner);
    }
  }
  return network;
}

}  // namespace weir::algorithms
