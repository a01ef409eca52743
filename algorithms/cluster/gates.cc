// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "algorithms/cluster/edges_at.h"
#include "algorithms/cluster/host_trees.h"
#include "algorithms/cluster/weights.h"
#include "algorithms/network/max_flow.h"
#include "algorithms/network/ratio.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// Weights with irregular proportions are rounded down to at most this number of steps; common fractions stay
/// exact.
constexpr int64_t kWeightSteps = 5040;
constexpr int64_t kMostParts = int64_t{1} << 40;  // maximum number of parts of a block

/// The fraction of all data for each plane. The same fractions apply to all hosts, so the host that would
/// take longest determines them.
Result<std::vector<int64_t>> weights_of_planes(const Cluster& cluster) {
  const auto planes = at(cluster.planes);
  std::vector<Ratio> least(planes);  // capacity per foreign block
  for (size_t s = 0; s < cluster.shapes.size(); ++s) {
    const auto& blocks = cluster.shapes[s].blocks;
    const int64_t own = std::accumulate(blocks.begin(), blocks.end(), int64_t{0});
    const int64_t foreign = std::max<int64_t>(cluster.first_block.back() - own, 1);
    std::vector<int64_t> capacity(planes);
    for (const Attachment& uplink : cluster.attached[s]) capacity[at(uplink.plane)] += uplink.capacity;
    for (size_t p = 0; p < planes; ++p) {
      const Ratio pace(capacity[p], foreign);
      if (s == 0 || pace < least[p]) least[p] = pace;
    }
  }
  const Ratio most = *std::max_element(least.begin(), least.end());
  if (most.numerator == 0) {
    return Status(Code::invalid_argument,
                  "no group of connected switches between hosts connects all hosts: expected one");
  }
  std::vector<int64_t> weights;
  for (const Ratio& pace : least) {
    weights.push_back(static_cast<int64_t>(pace.numerator * most.denominator * kWeightSteps /
                                           (pace.denominator * most.numerator)));
  }
  to_lowest_terms(weights);
  return weights;
}

/// The weight of each uplink in its plane, in proportion to its capacity.
std::vector<int64_t> weights_of(const std::vector<Attachment>& uplinks, int32_t plane) {
  std::vector<int64_t> weights(uplinks.size());
  for (size_t u = 0; u < uplinks.size(); ++u) {
    if (uplinks[u].plane == plane) weights[u] = uplinks[u].capacity;
  }
  to_lowest_terms(weights);
  const int64_t most = *std::max_element(weights.begin(), weights.end());
  if (most <= kWeightSteps) return weights;
  for (int64_t& weight : weights)
    weight = static_cast<int64_t>(static_cast<Int128>(weight) * kWeightSteps / most);
  to_lowest_terms(weights);
  return weights;
}

/// A rank near an uplink.
struct Near {
  Gate gate;
  int64_t capacity = 0;  ///< capacity of the narrowest edge of its path, in either direction
};

/// For each node the first edge of the shortest path to `start` (towards) or the last edge of that from
/// there, over switches; and its length. Of equally short paths it is the one over the wider edges: where
/// GPUs without ranks forward, that over NVLink rather than over the root complex.
struct Reach {
  std::vector<int32_t> edge;
  std::vector<int32_t> hops;
  std::vector<double> slowness;  ///< sum of the reciprocal capacities of the path's edges
};

/// The searches of a host's uplinks. REQUIRES: the shape outlives it.
class Surroundings {
 public:
  explicit Surroundings(const HostShape& shape)
      : network_(shape.network),
        leaving_(network_, &Edge::from, [](const Edge&) { return true; }),
        entering_(network_, &Edge::to, [](const Edge&) { return true; }),
        is_rank_(at(network_.nodes)) {
    for (const int32_t node : network_.rank_nodes) is_rank_[at(node)] = 1;
  }

  Reach reach(int32_t start, bool towards) const {
    Reach reach{std::vector<int32_t>(at(network_.nodes), -1), std::vector<int32_t>(at(network_.nodes), -1),
                std::vector<double>(at(network_.nodes))};
    std::vector<int32_t> order = {start};
    reach.hops[at(start)] = 0;
    for (size_t i = 0; i < order.size(); ++i) {
      if (is_rank_[at(order[i])]) continue;
      for (const int32_t number : (towards ? entering_ : leaving_).of(order[i])) {
        const Edge& edge = network_.edges[at(number)];
        const int32_t next = towards ? edge.from : edge.to;
        const int32_t hops = reach.hops[at(order[i])] + 1;
        const double slowness = reach.slowness[at(order[i])] + 1.0 / static_cast<double>(edge.capacity);
        const bool found = reach.hops[at(next)] >= 0;
        if (found && (reach.hops[at(next)] < hops || reach.slowness[at(next)] <= slowness)) continue;
        reach.hops[at(next)] = hops;
        reach.edge[at(next)] = number;
        reach.slowness[at(next)] = slowness;
        if (!found) order.push_back(next);
      }
    }
    return reach;
  }

 private:
  const Network& network_;
  const EdgesAt leaving_;
  const EdgesAt entering_;
  std::vector<char> is_rank_;  // index: node
};

/// What an uplink can send to the nearest `count` of the ranks at once and receive from them, up to `wanted`.
/// Other ranks do not forward.
int64_t carried(const HostShape& shape, int uplink, std::span<const Near> ranks, size_t count,
                int64_t wanted) {
  const Network& network = shape.network;
  std::vector<char> is_rank(at(network.nodes));
  for (const int32_t node : network.rank_nodes) is_rank[at(node)] = 1;
  int64_t least = wanted;
  for (const bool in : {true, false}) {
    std::vector<Edge> edges;
    for (Edge edge : network.edges) {
      if (!in) std::swap(edge.from, edge.to);
      if (!is_rank[at(edge.from)]) edges.push_back(edge);
    }
    const int32_t sink = network.nodes;
    for (const Near& near : ranks.first(count))
      edges.push_back({network.rank_nodes[at(near.gate.rank)], sink, wanted});
    MaxFlow<int64_t> flow(network.nodes + 1, edges);
    flow.set_supply(shape.uplinks[at(uplink)], wanted);
    least = std::min(least, flow.run(sink, wanted));
  }
  return least;
}

/// The nearest ranks whose paths together can carry the uplink's data, or as much of it as the paths to all
/// reachable ranks: where the way into the host is narrower than the uplink, ranks further away do not help.
std::vector<Near> nearest(const HostShape& shape, const Surroundings& around, int uplink, int64_t wanted) {
  const Network& network = shape.network;
  const int32_t start = shape.uplinks[at(uplink)];
  const Reach in = around.reach(start, false);
  const Reach out = around.reach(start, true);
  std::vector<Near> found;
  for (Rank rank = 0; rank < network.ranks(); ++rank) {
    const int32_t node = network.rank_nodes[at(rank)];
    if (in.hops[at(node)] < 0 || out.hops[at(node)] < 0) continue;
    Near near{{rank, uplink, 0, 0, {}, {}}, INT64_MAX};
    const auto take = [&](std::vector<int32_t>& way, int32_t edge) {
      way.push_back(edge);
      near.capacity = std::min(near.capacity, network.edges[at(edge)].capacity);
    };
    for (int32_t n = node; n != start; n = network.edges[at(in.edge[at(n)])].from)
      take(near.gate.in, in.edge[at(n)]);
    std::reverse(near.gate.in.begin(), near.gate.in.end());
    for (int32_t n = node; n != start; n = network.edges[at(out.edge[at(n)])].to)
      take(near.gate.out, out.edge[at(n)]);
    found.push_back(std::move(near));
  }
  const auto hops = [](const Near& near) { return near.gate.in.size() + near.gate.out.size(); };
  std::stable_sort(found.begin(), found.end(),
                   [&](const Near& a, const Near& b) { return hops(a) < hops(b); });
  size_t kept = 0;
  for (int64_t borne = 0; kept < found.size(); ++kept) {
    if (kept > 0 && hops(found[kept]) > hops(found[kept - 1])) {
      if (borne >= wanted) break;
      const int64_t most = carried(shape, uplink, found, found.size(), wanted);
      if (carried(shape, uplink, found, kept, wanted) == most) break;
    }
    borne = std::min(borne, wanted) + std::min(found[kept].capacity, wanted);
  }
  found.resize(kept);
  return found;
}

/// Gates whose shares are still fractions.
struct Shared {
  std::vector<Gate> gates;
  std::vector<Ratio> shares;
};

Result<Shared> gates_of(const HostShape& shape, const std::vector<Attachment>& uplinks,
                        const std::vector<int64_t>& planes) {
  Shared shared;
  const Surroundings around(shape);
  const int64_t whole = std::accumulate(planes.begin(), planes.end(), int64_t{0});
  for (size_t plane = 0; plane < planes.size(); ++plane) {
    if (planes[plane] == 0) continue;
    const std::vector<int64_t> weights = weights_of(uplinks, static_cast<int32_t>(plane));
    const int64_t sum = std::accumulate(weights.begin(), weights.end(), int64_t{0});
    for (size_t u = 0; u < uplinks.size(); ++u) {
      if (weights[u] == 0) continue;
      std::vector<Near> ranks = nearest(shape, around, static_cast<int>(u), uplinks[u].capacity);
      if (ranks.empty()) {
        return Status(Code::invalid_argument,
                      "a host has an uplink that reaches none of its ranks: expected a path");
      }
      for (Near& near : ranks) {
        shared.gates.push_back(std::move(near.gate));
        shared.shares.emplace_back(planes[plane] * weights[u],
                                   static_cast<Int128>(whole) * sum * static_cast<Int128>(ranks.size()));
      }
    }
  }
  return shared;
}

/// Makes `parts` a multiple of `divisor` as well.
Status extend(int64_t& parts, int64_t divisor) {
  const int64_t factor = divisor / std::gcd(parts, divisor);
  if (factor <= kMostParts / parts) {
    parts *= factor;
    return {};
  }
  return {Code::invalid_argument,
          fmt::format("blocks would have to be divided into more than {} parts: expected hosts that are more "
                      "alike",
                      kMostParts)};
}

int64_t sum_of(const std::vector<int64_t>& shares) {
  return std::accumulate(shares.begin(), shares.end(), int64_t{0});
}

}  // namespace

Result<int64_t> open_gates_only(Cluster& cluster) {
  const auto planes = weights_of_planes(cluster);
  WEIR_TRY(planes.status());
  std::vector<Shared> shared;
  int64_t parts = 1;
  for (size_t s = 0; s < cluster.shapes.size(); ++s) {
    auto found = gates_of(cluster.shapes[s], cluster.attached[s], *planes);
    WEIR_TRY(found.status());
    for (const Ratio& share : found->shares) WEIR_TRY(extend(parts, static_cast<int64_t>(share.denominator)));
    shared.push_back(std::move(*found));
  }
  for (size_t s = 0; s < shared.size(); ++s) {
    for (size_t g = 0; g < shared[s].gates.size(); ++g) {
      Gate& gate = cluster.shapes[s].gates.emplace_back(std::move(shared[s].gates[g]));
      const Ratio& share = shared[s].shares[g];
      gate.parts = static_cast<int64_t>(share.numerator * (parts / share.denominator));
    }
  }
  return parts;
}

Result<int64_t> open_gates(Cluster& cluster) {
  const auto parts = open_gates_only(cluster);
  WEIR_TRY(parts.status());
  for (size_t s = 0; s < cluster.shapes.size(); ++s)
    WEIR_TRY(plant_trees(cluster.shapes[s], cluster.attached[s], *parts, cluster.first_block.back()));
  int64_t finer = *parts;
  for (const HostShape& shape : cluster.shapes) {
    for (size_t rank = 0; rank < shape.blocks.size(); ++rank) {
      if (shape.own.shares[rank] > 0) WEIR_TRY(extend(finer, shape.own.shares[rank]));
    }
    WEIR_TRY(extend(finer, sum_of(shape.foreign.shares)));
  }
  for (HostShape& shape : cluster.shapes) {
    for (Gate& gate : shape.gates) gate.parts *= finer / *parts;
  }
  return finer;
}

}  // namespace weir::algorithms
