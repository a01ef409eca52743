// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "algorithms/cluster/edges_at.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

constexpr size_t kMostPaths = 64;
constexpr int64_t kMostPathWeight = 4096;  // larger weights are rounded down in proportion

struct Joins {
  std::span<const char> between;
  bool operator()(const Edge& edge) const { return between[at(edge.from)] && between[at(edge.to)]; }
};

/// Breadth-first searches over the switches, from one after the other.
class Search {
 public:
  Search(const Network& network, std::span<const char> between)
      : network_(network),
        leaving_(network, &Edge::from, Joins{between}),
        entering_(network, &Edge::to, Joins{between}),
        hops_(at(network.nodes), -1) {}

  /// The paths between two switches; empty if there are none.
  Way way(int32_t from, int32_t to) {
    Way way{from, to, {}};
    measure(from, to);
    if (hops_[at(from)] >= 0) collect(from, to, way);
    for (const int32_t node : reached_) hops_[at(node)] = -1;
    reached_.clear();
    int64_t most = 1;
    for (const Way::Path& path : way.paths) most = std::max(most, path.weight);
    int64_t divisor = 0;
    for (const Way::Path& path : way.paths) divisor = std::gcd(divisor, path.weight);
    for (Way::Path& path : way.paths) {
      path.weight = most / divisor <= kMostPathWeight
                        ? path.weight / divisor
                        : std::max<int64_t>(1, static_cast<int64_t>(static_cast<__int128>(path.weight) *
                                                                    kMostPathWeight / most));
    }
    return way;
  }

 private:
  /// Computes the hops to `to` of all switches that are nearer to it than `from`.
  void measure(int32_t from, int32_t to) {
    hops_[at(to)] = 0;
    reached_ = {to};
    for (size_t i = 0; i < reached_.size() && hops_[at(from)] < 0; ++i) {
      for (const int32_t edge : entering_.of(reached_[i])) {
        const int32_t next = network_.edges[at(edge)].from;
        if (hops_[at(next)] >= 0) continue;
        hops_[at(next)] = hops_[at(reached_[i])] + 1;
        reached_.push_back(next);
        if (next == from) break;
      }
    }
  }

  /// Every hop leads nearer, so that no search is wasted.
  void collect(int32_t from, int32_t to, Way& way) {
    struct Begun {
      int32_t node;
      Way::Path path;
    };
    std::vector<Begun> begun = {{from, {INT64_MAX, {}}}};
    while (!begun.empty() && way.paths.size() < kMostPaths) {
      Begun last = std::move(begun.back());
      begun.pop_back();
      if (last.node == to) {
        way.paths.push_back(std::move(last.path));
        continue;
      }
      for (const int32_t edge : leaving_.of(last.node)) {
        const Edge& step = network_.edges[at(edge)];
        if (hops_[at(step.to)] < 0 || hops_[at(step.to)] + 1 != hops_[at(last.node)]) continue;
        Begun more = last;
        more.node = step.to;
        more.path.weight = std::min(more.path.weight, step.capacity);
        more.path.edges.push_back(edge);
        begun.push_back(std::move(more));
      }
    }
  }

  const Network& network_;
  const EdgesAt leaving_;      // edges out of switches
  const EdgesAt entering_;     // edges into switches; only switches between hosts
  std::vector<int32_t> hops_;  // index: node; -1: not reached
  std::vector<int32_t> reached_;
};

}  // namespace

Result<std::vector<Way>> ways_between(const Network& network, std::span<const char> between_hosts,
                                      std::span<const std::pair<int32_t, int32_t>> pairs) {
  Search search(network, between_hosts);
  std::vector<Way> ways;
  for (const auto& [from, to] : pairs) {
    ways.push_back(search.way(from, to));
    if (!ways.back().paths.empty()) continue;
    return Status(
        Code::invalid_argument,
        fmt::format("no path over switches leads from switch {} to switch {}: expected one", from, to));
  }
  return ways;
}

void round_weights(Way& way, int64_t sum) {
  int64_t former = 0;
  for (const Way::Path& path : way.paths) former += path.weight;
  int64_t before = 0;  // each path gets what lies between two rounded sums, so that nothing is lost
  for (Way::Path& path : way.paths) {
    const int64_t after = before + path.weight;
    path.weight = after * sum / former - before * sum / former;
    before = after;
  }
  std::erase_if(way.paths, [](const Way::Path& path) { return path.weight == 0; });
}

}  // namespace weir::algorithms
