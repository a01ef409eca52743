// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/flows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/sim/engine.h"

namespace weir::sim {
namespace {

constexpr size_t kFirstBuckets = 64;
constexpr size_t kUsualWaits = 4;  // of a flow

Status wrong(std::string message) { return {Code::invalid_argument, std::move(message)}; }

size_t hash_of(std::span<const int32_t> edges) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a over whole numbers
  for (const int32_t edge : edges) hash = (hash ^ static_cast<uint32_t>(edge)) * 0x100000001b3;
  return static_cast<size_t>(hash ^ (hash >> 32));
}

}  // namespace

FlowSet::FlowSet(const Network& network, double hop_latency, double burst)
    : network_(network),
      burst_(burst),
      edge_latency_(network.edges.size(), hop_latency),
      by_hash_(kFirstBuckets) {
  const size_t known = std::min(network.latencies.size(), edge_latency_.size());
  for (size_t edge = 0; edge < known; ++edge) edge_latency_[edge] += network.latencies[edge];
}

PathId FlowSet::path(std::span<const int32_t> edges) {
  const size_t hash = hash_of(edges);
  for (const PathId known : by_hash_[hash % by_hash_.size()]) {
    if (std::ranges::equal(this->edges(known), edges)) return known;
  }
  path_edges_.insert(path_edges_.end(), edges.begin(), edges.end());
  path_ends_.push_back(path_edges_.size());
  const auto id = static_cast<PathId>(path_ends_.size() - 1);
  by_hash_[hash % by_hash_.size()].push_back(id);
  if (path_ends_.size() > by_hash_.size()) {
    std::vector<std::vector<PathId>> wider(4 * by_hash_.size());
    for (PathId p = 0; p <= id; ++p) wider[hash_of(this->edges(p)) % wider.size()].push_back(p);
    by_hash_ = std::move(wider);
  }
  return id;
}

void FlowSet::reserve(size_t flows) {
  flows_.reserve(flows);
  waits_.reserve(kUsualWaits * flows);
}

FlowId FlowSet::add(const Flow& flow) {
  flows_.push_back(flow);
  return static_cast<FlowId>(flows_.size() - 1);
}

std::span<const int32_t> FlowSet::edges(PathId path) const {
  if (path == kNoPath) return {};
  const auto p = static_cast<size_t>(path);
  const size_t first = p == 0 ? 0 : path_ends_[p - 1];
  return {path_edges_.data() + first, path_ends_[p] - first};
}

double FlowSet::latency(PathId path) const {
  double sum = 0;
  for (const int32_t edge : edges(path)) sum += edge_latency_[static_cast<size_t>(edge)];
  return sum;
}

Status FlowSet::check_path(PathId path) const {
  const auto edges = this->edges(path);
  if (edges.empty()) return wrong(fmt::format("path {} has no edges", path));
  for (size_t hop = 0; hop < edges.size(); ++hop) {
    if (edges[hop] < 0 || static_cast<size_t>(edges[hop]) >= network_.edges.size()) {
      return wrong(fmt::format("path {} uses edge {}: expected edges 0 to {}", path, edges[hop],
                               static_cast<int64_t>(network_.edges.size()) - 1));
    }
    const auto& edge = network_.edges[static_cast<size_t>(edges[hop])];
    if (edge.capacity <= 0) {
      return wrong(fmt::format("edge {} of path {} has capacity {}: expected more than 0", edges[hop], path,
                               edge.capacity));
    }
    if (hop > 0) {
      const auto& last = network_.edges[static_cast<size_t>(edges[hop - 1])];
      if (last.to != edge.from) {
        return wrong(fmt::format("path {} continues at node {} with edge {}, but edge {} ended at node {}",
                                 path, edge.from, edges[hop], edges[hop - 1], last.to));
      }
    }
    if (std::find(edges.begin(), edges.begin() + static_cast<std::ptrdiff_t>(hop), edges[hop]) !=
        edges.begin() + static_cast<std::ptrdiff_t>(hop)) {
      return wrong(fmt::format("path {} uses edge {} twice", path, edges[hop]));
    }
  }
  return {};
}

Status FlowSet::check() const {
  const bool complete = tokens_.empty() || tokens_.size() == network_.edges.size();
  if (!complete || !std::ranges::all_of(tokens_, is_sound))
    return wrong(fmt::format("{} initial bucket levels: expected {} figures, 0 or more", tokens_.size(),
                             network_.edges.size()));
  if (!is_sound(burst_))
    return wrong(fmt::format("edges with a burst of {} bytes: expected 0 or more", burst_));
  for (size_t e = 0; e < edge_latency_.size(); ++e) {
    if (!is_sound(edge_latency_[e])) {
      return wrong(fmt::format("edge {} has a latency of {} s: expected 0 or more", e, edge_latency_[e]));
    }
  }
  for (size_t p = 0; p < path_ends_.size(); ++p) WEIR_TRY(check_path(static_cast<PathId>(p)));
  for (size_t f = 0; f < flows_.size(); ++f) {
    const Flow& flow = flows_[f];
    if (flow.path < kNoPath || flow.path >= static_cast<PathId>(path_ends_.size())) {
      return wrong(fmt::format("flow {} uses path {}, which was never added", f, flow.path));
    }
    if (flow.stream < -1 || flow.stream >= static_cast<int64_t>(flows_.size())) {
      return wrong(
          fmt::format("flow {} has stream {}: expected -1 to {}", f, flow.stream, flows_.size() - 1));
    }
    if (flow.shares < 1) {
      return wrong(fmt::format("flow {} has {} shares: expected at least 1", f, flow.shares));
    }
    for (const auto& [figure, word] : {std::pair{flow.bytes, "bytes"},
                                       {flow.alpha, "alpha"},
                                       {flow.pace, "pace"},
                                       {flow.window, "window"}}) {
      if (!is_sound(figure))
        return wrong(fmt::format("flow {} has {} {}: expected 0 or more", f, word, figure));
    }
  }
  for (const auto& [flow, what] : waits_) {
    if (std::max(flow, what.flow) >= flows_.size()) {
      return wrong(fmt::format("flow {} waits for flow {}: expected flows 0 to {}", flow, what.flow,
                               static_cast<int64_t>(flows_.size()) - 1));
    }
    if (!is_sound(what.delay))
      return wrong(
          fmt::format("flow {} waits {} s after flow {}: expected 0 or more", flow, what.delay, what.flow));
  }
  return {};
}

Result<Timeline> FlowSet::simulate() const {
  WEIR_TRY(check());
  return FlowEngine(*this).run();
}

std::vector<EdgeLoad> busiest(const Network& network, std::span<const double> edge_bytes, double seconds,
                              size_t count) {
  std::vector<EdgeLoad> loads;
  for (size_t e = 0; e < edge_bytes.size(); ++e) {
    if (edge_bytes[e] <= 0) continue;
    const double capacity = static_cast<double>(network.edges[e].capacity) * algorithms::kCapacityUnit * 1e9;
    loads.push_back({static_cast<int32_t>(e), edge_bytes[e], edge_bytes[e] / (capacity * seconds)});
  }
  const size_t kept = std::min(count, loads.size());
  std::partial_sort(
      loads.begin(), loads.begin() + static_cast<std::ptrdiff_t>(kept), loads.end(),
      [](const EdgeLoad& a, const EdgeLoad& b) { return a.use != b.use ? a.use > b.use : a.edge < b.edge; });
  loads.resize(kept);
  return loads;
}

}  // namespace weir::sim
