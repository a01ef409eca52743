// SPDX-License-Identifier: Apache-2.0

#include "algorithms/network/used_nics.h"

#include <algorithm>
#include <utility>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

using topology::Adjacency;
using topology::Graph;
using topology::Index;
using topology::NodeKind;

/// Links times ranks.
constexpr size_t kMostPassed = 20'000'000;

constexpr size_t kAtOnce = 64;

/// Breadth-first searches along routes that lead through no further rank, from 64 ranks at once: a bit for
/// each. Most ranks reach a node by the same number of links. (M. Then et al., The More the Merrier:
/// Efficient Multi-Source Graph Traversal, VLDB 2014.)
class Routes {
 public:
  Routes(const Graph& graph, const std::vector<Rank>& rank_at, const std::vector<char>& usable)
      : graph_(graph),
        adjacency_(graph),
        rank_at_(rank_at),
        usable_(usable),
        next_(at(graph.size())),
        used_(at(graph.size())) {}

  /// Marks the nodes of all shortest routes from these ranks, at most 64, to others.
  void mark_from(std::span<const Index> starts) {
    search(starts);
    mark();
  }

  bool used(Index node) const { return used_[at(node)] != 0; }

 private:
  /// The ranks that reach a node by a certain number of links.
  struct Reached {
    Index node;
    uint64_t from;
  };
  using Level = std::vector<Reached>;

  void search(std::span<const Index> starts) {
    seen_.assign(at(graph_.size()), 0);
    levels_.assign(1, {});
    for (size_t i = 0; i < starts.size(); ++i) {
      levels_[0].push_back({starts[i], uint64_t{1} << i});
      seen_[at(starts[i])] = uint64_t{1} << i;
    }
    while (!levels_.back().empty()) levels_.push_back(beyond(levels_.back(), levels_.size() == 1));
  }

  Level beyond(const Level& level, bool starts) {
    Level result;
    for (const auto& [node, from] : level) {
      if (!starts && rank_at_[at(node)] >= 0) continue;
      for (const uint32_t link : adjacency_.from(node)) {
        const Index to = graph_.links()[link].to;
        const uint64_t first = from & ~seen_[at(to)];
        if (first == 0 || usable_[at(to)] == 0) continue;
        if (next_[at(to)] == 0) result.push_back({to, 0});
        next_[at(to)] |= first;
      }
    }
    for (Reached& one : result) {
      one.from = std::exchange(next_[at(one.node)], 0);
      seen_[at(one.node)] |= one.from;
    }
    return result;
  }

  /// From the last level to the first: which routes lead to a rank. Afterwards `from` of a level says it.
  void mark() {
    for (size_t level = levels_.size() - 1; level-- > 1;) {
      for (const auto& [node, leads] : levels_[level + 1]) next_[at(node)] = leads;
      for (auto& [node, from] : levels_[level]) {
        if (rank_at_[at(node)] >= 0) continue;
        uint64_t leads = 0;
        for (const uint32_t link : adjacency_.from(node)) leads |= next_[at(graph_.links()[link].to)];
        from &= leads;
        used_[at(node)] |= static_cast<char>(from != 0);
      }
      for (const auto& [node, leads] : levels_[level + 1]) next_[at(node)] = 0;
    }
  }

  const Graph& graph_;
  const Adjacency adjacency_;
  const std::vector<Rank>& rank_at_;
  const std::vector<char>& usable_;
  std::vector<Level> levels_;   // index: number of links from the starts
  std::vector<uint64_t> seen_;  // index: node; the starts that have reached it
  std::vector<uint64_t> next_;  // index: node; zero but for the level in work
  std::vector<char> used_;
};

}  // namespace

void leave_out_far_nics(const Graph& graph, std::span<const Index> devices, const std::vector<Rank>& rank_at,
                        std::vector<char>& usable) {
  const bool part =
      std::ranges::any_of(graph.all(NodeKind::gpu), [&](Index gpu) { return usable[at(gpu)] == 0; });
  if (!part || graph.links().size() * devices.size() > kMostPassed) return;
  Routes routes(graph, rank_at, usable);
  for (size_t first = 0; first < devices.size(); first += kAtOnce)
    routes.mark_from(devices.subspan(first, std::min(kAtOnce, devices.size() - first)));
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
