// SPDX-License-Identifier: Apache-2.0

#include "algorithms/network/used_nics.h"

#include <algorithm>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

using topology::Adjacency;
using topology::Graph;
using topology::Index;
using topology::NodeKind;

/// Links that all searches together pass; a search from each rank. About 0.2 s.
constexpr size_t kMostPassed = 20'000'000;

/// Breadth-first searches along routes that lead through no further rank.
class Routes {
 public:
  Routes(const Graph& graph, const std::vector<Rank>& rank_at, const std::vector<char>& usable)
      : graph_(graph),
        adjacency_(graph),
        rank_at_(rank_at),
        usable_(usable),
        depth_(at(graph.size())),
        used_(at(graph.size())) {}

  /// Marks the nodes of all shortest routes from this rank to others.
  void mark_from(Index start) {
    std::ranges::fill(depth_, -1);
    depth_[at(start)] = 0;
    order_ = {start};
    for (size_t i = 0; i < order_.size(); ++i) {
      const Index node = order_[i];
      if (node != start && rank_at_[at(node)] >= 0) continue;
      for (const uint32_t link : adjacency_.from(node)) {
        const Index to = graph_.links()[link].to;
        if (usable_[at(to)] == 0 || depth_[at(to)] >= 0) continue;
        depth_[at(to)] = depth_[at(node)] + 1;
        order_.push_back(to);
      }
    }
    leads_.assign(at(graph_.size()), 0);
    for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
      if (*node == start) continue;
      if (rank_at_[at(*node)] >= 0) {
        leads_[at(*node)] = 1;
        continue;
      }
      for (const uint32_t link : adjacency_.from(*node)) {
        const Index to = graph_.links()[link].to;
        if (leads_[at(to)] == 0 || depth_[at(to)] != depth_[at(*node)] + 1) continue;
        leads_[at(*node)] = used_[at(*node)] = 1;
        break;
      }
    }
  }

  bool used(Index node) const { return used_[at(node)] != 0; }

 private:
  const Graph& graph_;
  const Adjacency adjacency_;
  const std::vector<Rank>& rank_at_;
  const std::vector<char>& usable_;
  std::vector<int32_t> depth_;  // index: node; links from the start; -1: not reached
  std::vector<Index> order_;
  std::vector<char> leads_;  // index: node; a shortest route from the start to a rank leads through it
  std::vector<char> used_;
};

}  // namespace

void leave_out_far_nics(const Graph& graph, std::span<const Index> devices, const std::vector<Rank>& rank_at,
                        std::vector<char>& usable) {
  const bool part =
      std::ranges::any_of(graph.all(NodeKind::gpu), [&](Index gpu) { return usable[at(gpu)] == 0; });
  if (!part || graph.links().size() * devices.size() > kMostPassed) return;
  Routes routes(graph, rank_at, usable);
  for (const Index device : devices) routes.mark_from(device);
  std::vector<char> has_used(at(graph.size()));  // index: host
  const auto host_of = [&](Index node) { return graph.holder(node, NodeKind::host); };
  const auto each_nic = [&](auto&& visit) {
    for (Index node = 0; node < graph.size(); ++node) {
      const NodeKind kind = graph[node].kind();
      if ((kind == NodeKind::nic || kind == NodeKind::port) && host_of(node) != topology::kNone) visit(node);
    }
  };
  each_nic([&](Index node) { has_used[at(host_of(node))] |= static_cast<char>(routes.used(node)); });
  each_nic([&](Index node) {
    if (!routes.used(node) && has_used[at(host_of(node))] != 0) usable[at(node)] = 0;
  });
}

}  // namespace weir::algorithms
