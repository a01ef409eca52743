// SPDX-License-Identifier: Apache-2.0

#include "algorithms/network/near_links.h"

#include <algorithm>
#include <map>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

using topology::Adjacency;
using topology::Graph;
using topology::Index;
using topology::Link;
using topology::LinkKind;
using topology::NodeKind;

bool is_gpu(NodeKind kind) { return kind == NodeKind::gpu || kind == NodeKind::partition; }
bool is_bus(LinkKind kind) { return kind == LinkKind::pci || kind == LinkKind::cpu || kind == LinkKind::c2c; }

struct HostDevices {
  std::vector<Index> gpus;  ///< usable ones with links of a bus
  std::vector<Index> nics;  ///< usable ones with a cable
  bool memory_ranks = false;
};

/// Searches over the buses of one host after the other.
class NearLinks {
 public:
  NearLinks(const Graph& graph, std::span<const char> usable)
      : graph_(graph),
        adjacency_(graph),
        usable_(usable),
        has_cable_(at(graph.size())),
        depth_(at(graph.size()), -1),
        kept_(graph.links().size()) {
    for (const Link& link : graph.links()) {
      if (link.kind != LinkKind::cable || usable[at(link.from)] == 0 || usable[at(link.to)] == 0) continue;
      has_cable_[at(link.from)] = 1;
      if (graph[link.from].kind() == NodeKind::port && graph[link.from].parent != topology::kNone)
        has_cable_[at(graph[link.from].parent)] = 1;
    }
  }

  bool is_nic(Index node) const {
    return graph_[node].kind() == NodeKind::nic && usable_[at(node)] != 0 && has_cable_[at(node)] != 0;
  }
  bool has_bus(Index node) const { return bus_rate(node) >= 0; }
  bool kept(size_t link) const { return kept_[link] != 0; }

  /// Keeps the links of a host that moves take. False: it has to keep all.
  bool keep_near(const HostDevices& host) {
    for (const Index gpu : host.gpus)
      if (keep_to_nearest(gpu, true).empty()) return false;
    return std::ranges::all_of(host.nics, [&](Index nic) {
      double rate = 0;
      const std::vector<Index> gpus = keep_to_nearest(nic, false);
      for (const Index gpu : gpus) rate += std::max(0.0, bus_rate(gpu));
      return !gpus.empty() && rate >= rate_of_nic(nic);
    });
  }

 private:
  /// Of all links of the node to a bus; below 0: there are none.
  double bus_rate(Index node) const {
    double rate = -1;
    for (const uint32_t number : adjacency_.from(node)) {
      const Link& link = graph_.links()[number];
      if (is_bus(link.kind)) rate = std::max(rate, 0.0) + link.gb_per_s;
    }
    return rate;
  }

  double rate_of_nic(Index nic) const {
    double beyond = 0;  // the sum of its cables, or of the links to its ports
    for (const uint32_t number : adjacency_.from(nic)) {
      const Link& link = graph_.links()[number];
      if (link.kind == LinkKind::cable || link.kind == LinkKind::inner) beyond += link.gb_per_s;
    }
    return std::min(beyond, bus_rate(nic));
  }

  bool is_goal(Index node, bool nics) const {
    return nics ? is_nic(node) : is_gpu(graph_[node].kind()) && usable_[at(node)] != 0;
  }

  /// Keeps the shortest ways over buses to the nearest NICs, or GPUs, and returns these.
  std::vector<Index> keep_to_nearest(Index start, bool nics) {
    std::vector<Index> order = {start}, goals;
    int32_t nearest = INT32_MAX;
    depth_[at(start)] = 0;
    for (size_t i = 0; i < order.size() && depth_[at(order[i])] < nearest; ++i) {
      const NodeKind kind = graph_[order[i]].kind();
      if (i > 0 && (is_gpu(kind) || kind == NodeKind::nic)) continue;
      for (const uint32_t number : adjacency_.from(order[i])) {
        const Link& link = graph_.links()[number];
        if (!is_bus(link.kind) || usable_[at(link.to)] == 0 || depth_[at(link.to)] >= 0) continue;
        depth_[at(link.to)] = depth_[at(order[i])] + 1;
        order.push_back(link.to);
        if (!is_goal(link.to, nics)) continue;
        nearest = depth_[at(link.to)];
        goals.push_back(link.to);
      }
    }
    keep_ways_to(goals);
    for (const Index node : order) depth_[at(node)] = -1;
    return goals;
  }

  /// Both directions of all links by which the last search came to these nodes.
  void keep_ways_to(const std::vector<Index>& goals) {
    std::vector<Index> on_way = goals;
    for (size_t i = 0; i < on_way.size(); ++i) {
      for (const uint32_t number : adjacency_.from(on_way[i])) {
        const Link& back = graph_.links()[number];
        if (!is_bus(back.kind) || depth_[at(back.to)] < 0 || depth_[at(back.to)] + 1 != depth_[at(back.from)])
          continue;
        kept_[number] = 1;
        for (const uint32_t there : adjacency_.from(back.to))
          if (graph_.links()[there].to == back.from && is_bus(graph_.links()[there].kind)) kept_[there] = 1;
        if (std::ranges::find(on_way, back.to) == on_way.end()) on_way.push_back(back.to);
      }
    }
  }

  const Graph& graph_;
  const Adjacency adjacency_;
  const std::span<const char> usable_;
  std::vector<char> has_cable_;  // index: node
  std::vector<int32_t> depth_;   // index: node; -1: not reached by the current search
  std::vector<char> kept_;       // index: link
};

}  // namespace

topology::Unions fast_parts(const Graph& graph, std::span<const char> usable) {
  topology::Unions parts(graph.size());
  for (const Link& link : graph.links()) {
    const bool fast =
        link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi || link.kind == LinkKind::inner;
    if (fast && usable[at(link.from)] != 0 && usable[at(link.to)] != 0) parts.join(link.from, link.to);
  }
  return parts;
}

void close_far_links(const Graph& graph, std::span<const char> usable, std::span<const int> rank_at,
                     std::vector<char>& open) {
  NearLinks near(graph, usable);
  std::map<Index, HostDevices> hosts;
  for (Index node = 0; node < graph.size(); ++node) {
    const NodeKind kind = graph[node].kind();
    const Index host = graph.holder(node, NodeKind::host);
    if (host == topology::kNone || usable[at(node)] == 0) continue;
    if (is_gpu(kind) && near.has_bus(node)) hosts[host].gpus.push_back(node);
    if (near.is_nic(node)) hosts[host].nics.push_back(node);
    if (!is_gpu(kind) && rank_at[at(node)] >= 0) hosts[host].memory_ranks = true;
  }
  topology::Unions parts = fast_parts(graph, usable);
  std::vector<char> closes(at(graph.size()));  // index: host
  for (const auto& [host, devices] : hosts) {
    const bool joined = std::ranges::all_of(
        devices.gpus, [&](Index gpu) { return parts.find(gpu) == parts.find(devices.gpus[0]); });
    closes[at(host)] = static_cast<char>(devices.gpus.size() > 1 && joined && !devices.nics.empty() &&
                                         !devices.memory_ranks && near.keep_near(devices));
  }
  for (size_t number = 0; number < open.size(); ++number) {
    const Link& link = graph.links()[number];
    if ((link.kind != LinkKind::pci && link.kind != LinkKind::cpu) || near.kept(number)) continue;
    const Index host = graph.holder(link.from, NodeKind::host);
    if (host != topology::kNone && closes[at(host)] != 0) open[number] = 0;
  }
}

}  // namespace weir::algorithms
