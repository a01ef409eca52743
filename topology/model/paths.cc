// SPDX-License-Identifier: Apache-2.0

#include "topology/model/paths.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>
#include <tuple>

namespace weir::topology {
namespace {

bool is_gpu(const Node& node) { return node.kind() == NodeKind::gpu || node.kind() == NodeKind::partition; }

bool is_root(const Graph& graph, Index node) {
  const auto* bridge = graph.get<BridgeFacts>(node);
  return bridge != nullptr && bridge->root;
}

PathClass worse(PathClass a, PathClass b) { return std::max(a, b); }

/// The class of a path of class `so_far` that continues over `link`; dis: it may not.
PathClass extend(const Graph& graph, PathClass so_far, const Link& link) {
  const Node& from = graph[link.from];
  const Node& to = graph[link.to];
  if (from.kind() == NodeKind::nic && so_far != PathClass::loc) {  // leaves one host and enters one
    const bool leaves = to.kind() == NodeKind::port;
    if (leaves == (so_far == PathClass::net)) return PathClass::dis;
  }
  if (is_gpu(from) && so_far != PathClass::loc && link.kind != LinkKind::inner) {
    const bool by_gpu_link = link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
    return so_far == PathClass::nvl && by_gpu_link && is_gpu(to) ? PathClass::nvb : PathClass::dis;
  }
  switch (link.kind) {
    case LinkKind::inner: return so_far;
    case LinkKind::nvlink:
    case LinkKind::xgmi:
      if (to.kind() == NodeKind::numa || from.kind() == NodeKind::numa) return worse(so_far, PathClass::c2c);
      return so_far <= PathClass::nvl ? PathClass::nvl : PathClass::dis;
    case LinkKind::c2c: return worse(so_far, PathClass::c2c);
    case LinkKind::pci:
      if (so_far == PathClass::nvl || so_far == PathClass::nvb) return PathClass::dis;
      if (so_far == PathClass::c2c) return PathClass::p2c;
      if (is_root(graph, link.from) && to.kind() == NodeKind::numa) return worse(so_far, PathClass::node);
      if (is_root(graph, link.to) || to.kind() == NodeKind::numa) return worse(so_far, PathClass::phb);
      if (from.kind() == NodeKind::bridge && to.kind() == NodeKind::bridge && !is_root(graph, link.from))
        return worse(so_far, PathClass::pxb);
      return worse(so_far, PathClass::pix);
    case LinkKind::cpu: return worse(so_far, PathClass::sys);
    case LinkKind::cable: return PathClass::net;
  }
  return PathClass::dis;
}

}  // namespace

const char* name(PathClass path_class) {
  static constexpr std::array<const char*, kPathClasses> kNames = {
      "LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "NODE", "SYS", "NET", "DIS"};
  return kNames[static_cast<size_t>(path_class)];
}

Paths::Paths(const Graph& graph, const Adjacency& adjacency, Index from, PathClass farthest)
    : graph_(graph), best_(static_cast<size_t>(graph.size())) {
  // Dijkstra's algorithm: neither the class nor the number of links decreases along a path.
  using Entry = std::tuple<PathClass, int, double, Index>;  // the third element: minus the bandwidth
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<bool> done(best_.size());
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  best_[static_cast<size_t>(from)] = {PathClass::loc, 0, kUnlimited, UINT32_MAX};
  queue.emplace(PathClass::loc, 0, -kUnlimited, from);
  while (!queue.empty()) {
    const Index node = std::get<3>(queue.top());
    queue.pop();
    if (done[static_cast<size_t>(node)]) continue;
    done[static_cast<size_t>(node)] = true;
    const Best here = best_[static_cast<size_t>(node)];
    for (const uint32_t place : adjacency.from(node)) {
      const Link& link = graph.links()[place];
      const PathClass path_class = extend(graph, here.path_class, link);
      if (path_class > farthest || path_class == PathClass::dis) continue;
      const Best next = {path_class, here.hops + 1, std::min(here.gb_per_s, link.gb_per_s), place};
      Best& known = best_[static_cast<size_t>(link.to)];
      if (done[static_cast<size_t>(link.to)] || std::tuple(known.path_class, known.hops, -known.gb_per_s) <=
                                                    std::tuple(next.path_class, next.hops, -next.gb_per_s))
        continue;
      known = next;
      queue.emplace(next.path_class, next.hops, -next.gb_per_s, link.to);
    }
  }
}

Path Paths::to(Index to) const {
  const Best& best = best_[static_cast<size_t>(to)];
  Path path{best.path_class, best.hops, best.hops == 0 ? 0 : best.gb_per_s, {}};
  for (const Best* at = &best; at->link != UINT32_MAX;) {
    path.links.push_back(at->link);
    at = &best_[static_cast<size_t>(graph_.links()[at->link].from)];
  }
  std::reverse(path.links.begin(), path.links.end());
  return path;
}

GpuLinks gpu_links(const Graph& graph, const Adjacency& adjacency, Index from, Index to) {
  GpuLinks all;
  const auto add = [&all](int count, double gb_per_s) {
    all.count += count;
    all.gb_per_s += gb_per_s;
  };
  // Calls `visit` with the links that lead from `node` to GPUs and NVSwitches.
  const auto each = [&](Index node, auto visit) {
    for (const uint32_t place : adjacency.from(node)) {
      const Link& link = graph.links()[place];
      if (link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi) visit(link);
    }
  };
  const auto is_switch = [&](Index node) { return graph[node].kind() == NodeKind::nvswitch; };
  each(from, [&](const Link& first) {
    if (first.to == to) return add(first.count, first.gb_per_s);
    if (!is_switch(first.to)) return;
    each(first.to, [&](const Link& second) {
      const int count = std::min(first.count, second.count);
      const double gb_per_s = std::min(first.gb_per_s, second.gb_per_s);
      if (second.to == to) return add(count, gb_per_s);
      if (!is_switch(second.to)) return;
      each(second.to, [&](const Link& third) {  // a switch on the other board
        if (third.to == to) add(std::min(count, third.count), std::min(gb_per_s, third.gb_per_s));
      });
    });
  });
  return all;
}

}  // namespace weir::topology
