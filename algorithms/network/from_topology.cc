// SPDX-License-Identifier: Apache-2.0
// Selects the part of a topology that lies between ranks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "algorithms/network/near_links.h"
#include "algorithms/network/network.h"
#include "algorithms/network/relays.h"
#include "algorithms/network/used_nics.h"
#include "src/base/index.h"
#include "src/base/types.h"
#include "topology/model/unions.h"

namespace weir::algorithms {
namespace {

using topology::Adjacency;
using topology::Graph;
using topology::Index;
using topology::kNone;
using topology::NodeKind;

Status wrong(std::string sentence) { return Status(Code::invalid_argument, std::move(sentence)); }

bool may_be_rank(NodeKind kind) {
  return kind == NodeKind::gpu || kind == NodeKind::partition || kind == NodeKind::numa ||
         kind == NodeKind::host;
}

/// For each node its rank, or -1.
Result<std::vector<Rank>> ranks_of(const Graph& graph, std::span<const Index> devices) {
  std::vector<Rank> rank_at(at(graph.size()), -1);
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    const Index device = devices[rank];
    if (device < 0 || device >= graph.size()) {
      return wrong(fmt::format("rank {} is on node {}, but the topology has {} nodes: expected one of them",
                               rank, device, graph.size()));
    }
    if (!may_be_rank(graph[device].kind())) {
      return wrong(fmt::format("rank {} is on {}: expected a GPU, a partition, a NUMA node or a host", rank,
                               graph.describe(device)));
    }
    if (rank_at[at(device)] >= 0) {
      return wrong(fmt::format("ranks {} and {} are both on {}: expected one device per rank",
                               rank_at[at(device)], rank, graph.describe(device)));
    }
    rank_at[at(device)] = static_cast<Rank>(rank);
  }
  if (devices.empty()) return wrong("a network without ranks: expected at least one device");
  return rank_at;
}

/// Devices without a rank do not forward; GPUs forward what their partitions need.
std::vector<char> usable(const Graph& graph, const std::vector<Rank>& rank_at) {
  std::vector<char> can(at(graph.size()), 1);
  for (Index node = 0; node < graph.size(); ++node) {
    const NodeKind kind = graph[node].kind();
    if (kind == NodeKind::gpu || kind == NodeKind::partition)
      can[at(node)] = static_cast<char>(rank_at[at(node)] >= 0);
  }
  for (Index node = 0; node < graph.size(); ++node) {
    const Index parent = graph[node].parent;
    if (rank_at[at(node)] >= 0 && graph[node].kind() == NodeKind::partition && parent != kNone)
      can[at(parent)] = 1;
  }
  return can;
}

/// Whether all ranks are GPUs of one host, between which a path of NVLink or xGMI leads over GPUs with ranks
/// and NVSwitches only.
bool fast_fabric_suffices(const Graph& graph, std::span<const Index> devices,
                          const std::vector<char>& usable) {
  const Index host = graph.holder(devices[0], NodeKind::host);
  topology::Unions parts = fast_parts(graph, usable);
  return std::ranges::all_of(devices, [&](Index device) {
    const NodeKind kind = graph[device].kind();
    return (kind == NodeKind::gpu || kind == NodeKind::partition) &&
           graph.holder(device, NodeKind::host) == host && parts.find(device) == parts.find(devices[0]);
  });
}

/// A driver gives two GPUs one way: NVLink or xGMI where these connect them, and AMD's fabric forwards from
/// GPU to GPU. In a job that needs no other links, data therefore takes no other.
void keep_to_fast_fabric(const Graph& graph, std::span<const Index> devices, std::vector<char>& usable) {
  if (devices.size() < 2 || !fast_fabric_suffices(graph, devices, usable)) return;
  for (Index node = 0; node < graph.size(); ++node) {
    const NodeKind kind = graph[node].kind();
    if (kind != NodeKind::gpu && kind != NodeKind::partition && kind != NodeKind::nvswitch)
      usable[at(node)] = 0;
  }
}

/// Finds the nodes on paths between different ranks, by one depth-first search from an additional node
/// connected to every rank: they are the nodes in one biconnected component with it (Hopcroft and Tarjan,
/// CACM 16, 1973).
class BetweenRanks {
 public:
  BetweenRanks(const Graph& graph, const std::vector<char>& usable, const std::vector<char>& open,
               const std::vector<Rank>& rank_at)
      : graph_(graph),
        adjacency_(graph),
        usable_(usable),
        open_(open),
        rank_at_(rank_at),
        found_(at(graph.size())),
        low_(at(graph.size())),
        parent_(at(graph.size()), kNone),
        next_(at(graph.size())) {}

  /// Index: node. REQUIRES: all ranks are reached from `first`.
  std::vector<char> from(std::span<const Index> ranks) {
    for (Index rank : ranks) {
      if (found_[at(rank)] == 0) search(rank);
    }
    std::vector<char> between(at(graph_.size()));
    for (Index node : order_) {  // parents come first
      const Index parent = parent_[at(node)];
      between[at(node)] = static_cast<char>(
          parent == kNone || (between[at(parent)] != 0 && low_[at(node)] < found_[at(parent)]));
    }
    return between;
  }

 private:
  void enter(Index node, Index parent) {
    parent_[at(node)] = parent;
    order_.push_back(node);
    found_[at(node)] = static_cast<int32_t>(order_.size());
    low_[at(node)] = rank_at_[at(node)] >= 0 ? 0 : found_[at(node)];  // 0: the additional node
    stack_.push_back(node);
  }

  void search(Index start) {
    enter(start, kNone);
    while (!stack_.empty()) {
      const Index node = stack_.back();
      const auto links = adjacency_.from(node);
      if (links.begin() + next_[at(node)] != links.end()) {
        const uint32_t link = links.begin()[next_[at(node)]++];
        const Index to = graph_.links()[link].to;
        if (usable_[at(to)] == 0 || open_[link] == 0 || to == parent_[at(node)]) continue;
        if (found_[at(to)] == 0) {
          enter(to, node);
        } else {
          low_[at(node)] = std::min(low_[at(node)], found_[at(to)]);
        }
        continue;
      }
      stack_.pop_back();
      const Index parent = parent_[at(node)];
      if (parent != kNone) low_[at(parent)] = std::min(low_[at(parent)], low_[at(node)]);
    }
  }

  const Graph& graph_;
  const Adjacency adjacency_;
  const std::vector<char>& usable_;
  const std::vector<char>& open_;  // index: link
  const std::vector<Rank>& rank_at_;
  std::vector<int32_t> found_;  // index: node; order of discovery from 1; 0: not discovered
  std::vector<int32_t> low_;
  std::vector<Index> parent_;
  std::vector<uint32_t> next_;
  std::vector<Index> order_;
  std::vector<Index> stack_;
};

/// Success if every rank can be reached from the first one.
Status joined(const Graph& graph, const std::vector<char>& usable, const std::vector<char>& open,
              std::span<const Index> devices) {
  const Adjacency adjacency(graph);
  std::vector<char> reached(at(graph.size()));
  std::vector<Index> order = {devices[0]};
  reached[at(devices[0])] = 1;
  for (size_t i = 0; i < order.size(); ++i) {
    for (uint32_t link : adjacency.from(order[i])) {
      const Index to = graph.links()[link].to;
      if (usable[at(to)] == 0 || open[link] == 0 || reached[at(to)] != 0) continue;
      reached[at(to)] = 1;
      order.push_back(to);
    }
  }
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    if (reached[at(devices[rank])] != 0) continue;
    return wrong(
        fmt::format("no path of links leads from {} (rank 0) to {} (rank {}): expected devices that are "
                    "connected",
                    graph.describe(devices[0]), graph.describe(devices[rank]), rank));
  }
  return {};
}

/// For each NVSwitch the first one that has the same links to the same neighbours: GPUs distribute what they
/// send to another one over all of them. Other nodes stay as they are.
std::vector<Index> united_switches(const Graph& graph) {
  std::map<Index, std::vector<std::tuple<Index, double, double>>> links;  // index: NVSwitch
  for (const topology::Link& link : graph.links()) {
    if (graph[link.to].kind() == NodeKind::nvswitch) links[link.to].emplace_back(link.from, link.gb_per_s, 0);
    if (graph[link.from].kind() == NodeKind::nvswitch)
      links[link.from].emplace_back(link.to, 0, link.gb_per_s);
  }
  std::vector<Index> first(at(graph.size()));
  std::iota(first.begin(), first.end(), 0);
  std::map<std::vector<std::tuple<Index, double, double>>, Index> alike;
  for (auto& [node, own] : links) {
    std::ranges::sort(own);
    first[at(node)] = alike.try_emplace(own, node).first->second;
  }
  return first;
}

/// Parallel links become one edge; it refers to the first of them.
Result<std::vector<Edge>> edges_between(const Graph& graph, const std::vector<char>& open,
                                        const std::vector<int32_t>& node_of) {
  std::vector<uint32_t> links;
  for (uint32_t link = 0; link < graph.links().size(); ++link) {
    const topology::Link& each = graph.links()[link];
    if (open[link] != 0 && node_of[at(each.from)] >= 0 && node_of[at(each.to)] >= 0 && each.from != each.to)
      links.push_back(link);
  }
  const auto ends = [&](uint32_t link) {
    return std::pair(node_of[at(graph.links()[link].from)], node_of[at(graph.links()[link].to)]);
  };
  std::stable_sort(links.begin(), links.end(), [&](uint32_t a, uint32_t b) { return ends(a) < ends(b); });
  std::vector<Edge> edges;
  for (size_t i = 0; i < links.size();) {
    const uint32_t first = links[i];
    double gb_per_s = 0;
    for (; i < links.size() && ends(links[i]) == ends(first); ++i)
      gb_per_s += graph.links()[links[i]].gb_per_s;
    const double units = std::round(gb_per_s / kCapacityUnit);
    if (!(units >= 1) || units >= 0x1p62) {
      const topology::Link& link = graph.links()[first];
      return wrong(fmt::format("the link from {} to {} has no known bandwidth: expected GB/s above 0",
                               graph.describe(link.from), graph.describe(link.to)));
    }
    edges.push_back(
        {ends(first).first, ends(first).second, static_cast<int64_t>(units), static_cast<int32_t>(first)});
  }
  return edges;
}

/// The parts of the topology between ranks that are usable.
Result<Network> network_over(const Graph& graph, std::span<const Index> devices,
                             const std::vector<Rank>& rank_at, std::vector<char> can, Ways ways) {
  std::vector<char> open(graph.links().size(), 1);
  if (ways == Ways::of_driver) {
    keep_to_fast_fabric(graph, devices, can);
    close_far_links(graph, can, rank_at, open);
  }
  WEIR_TRY(joined(graph, can, open, devices));
  const std::vector<char> between = BetweenRanks(graph, can, open, rank_at).from(devices);

  Network network;
  std::vector<int32_t> node_of(at(graph.size()), -1);
  const std::vector<Index> united = united_switches(graph);
  for (Index node = 0; node < graph.size(); ++node) {
    if (between[at(node)] == 0) continue;
    if (united[at(node)] != node) {
      node_of[at(node)] = node_of[at(united[at(node)])];
      network.others.emplace_back(node, node_of[at(node)]);
      continue;
    }
    node_of[at(node)] = network.nodes++;
    network.origin.push_back(node);
  }
  for (Index device : devices) network.rank_nodes.push_back(node_of[at(device)]);
  auto edges = edges_between(graph, open, node_of);
  if (!edges.ok()) return edges.status();
  network.edges = std::move(*edges);
  for (const Edge& edge : network.edges) network.link_kinds.push_back(graph.links()[at(edge.link)].kind);
  return network;
}

/// The nodes of GPUs and partitions that have no rank, and no partition with one.
std::vector<int32_t> relay_nodes(const Network& network, const Graph& graph) {
  if (network.origin.empty()) return {};
  std::vector<char> taken(at(graph.size()));
  for (const int32_t node : network.rank_nodes) {
    const Index device = network.origin[at(node)];
    taken[at(device)] = 1;
    if (graph[device].parent != kNone) taken[at(graph[device].parent)] = 1;
  }
  std::vector<int32_t> relays;
  for (int32_t node = 0; node < network.nodes; ++node) {
    const Index device = network.origin[at(node)];
    const NodeKind kind = graph[device].kind();
    if ((kind == NodeKind::gpu || kind == NodeKind::partition) && taken[at(device)] == 0)
      relays.push_back(node);
  }
  return relays;
}

}  // namespace

Result<Network> network_of(const Graph& graph, std::span<const Index> devices, Ways ways) {
  const auto rank_at = ranks_of(graph, devices);
  WEIR_TRY(rank_at.status());
  std::vector<char> can = usable(graph, *rank_at);
  if (ways == Ways::of_driver) leave_out_far_nics(graph, devices, *rank_at, can);
  return network_over(graph, devices, *rank_at, std::move(can), ways);
}

Result<Network> network_with_relays(const Graph& graph, std::span<const Index> devices) {
  const auto rank_at = ranks_of(graph, devices);
  WEIR_TRY(rank_at.status());
  return network_over(graph, devices, *rank_at, std::vector<char>(at(graph.size()), 1), Ways::of_driver);
}

int relays_in(const Network& network, const Graph& graph) {
  return static_cast<int>(relay_nodes(network, graph).size());
}

Network with_relays_as_ranks(const Network& network, const Graph& graph) {
  std::vector<char> has_rank(at(graph.size()));  // index: host
  const auto host_of = [&](int32_t node) { return graph.holder(network.origin[at(node)], NodeKind::host); };
  for (const int32_t node : network.rank_nodes)
    if (const Index host = host_of(node); host != kNone) has_rank[at(host)] = 1;
  Network wide = network;
  for (const int32_t node : relay_nodes(network, graph))
    if (const Index host = host_of(node); host != kNone && has_rank[at(host)] != 0)
      wide.rank_nodes.push_back(node);
  return wide;
}

}  // namespace weir::algorithms
