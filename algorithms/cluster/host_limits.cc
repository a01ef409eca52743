// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/host_limits.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// The load of an edge inside a host, as a fraction of all data.
struct Inside {
  int64_t capacity = 0;
  Rational in;     ///< load by data that enters by gates, once
  Rational out;    ///< load each time data leaves
  Rational trees;  ///< load of the trees to all ranks
};

/// Limits of one host, whose shape has gates and trees in both directions.
class Limiter {
 public:
  void add(const Cluster& cluster, const Host& host, int64_t parts) {
    const HostShape& shape = cluster.shapes[at(host.shape)];
    const auto edge = [&](int32_t number) -> Inside& { return inside_[host.edges[at(number)]]; };
    for (size_t e = 0; e < shape.network.edges.size(); ++e)
      edge(static_cast<int32_t>(e)).capacity = shape.network.edges[e].capacity;
    std::vector<int64_t> passing(shape.uplinks.size());
    for (const Gate& gate : shape.gates) {
      passing[at(gate.uplink)] += gate.parts;
      for (const int32_t each : gate.in) edge(each).in += Rational(gate.parts) / parts;
      for (const int32_t each : gate.out) edge(each).out += Rational(gate.parts) / parts;
    }
    const auto& shares = shape.foreign.shares;
    const int64_t all = std::accumulate(shares.begin(), shares.end(), int64_t{0});
    for (const Tree& tree : shape.foreign.trees) {
      for (const TreeEdge& each : tree.edges) {
        for (const int32_t step : each.route) edge(step).trees += Rational(tree.multiplicity) / all;
      }
    }
    const auto& uplinks = cluster.attached[at(host.shape)];
    for (size_t u = 0; u < passing.size(); ++u) {
      if (passing[u] > 0) limit(Rational(uplinks[u].capacity) * parts / passing[u], 0);
    }
  }

  /// With d neighbours data enters once and leaves d - 1 times, or the reverse when it is summed.
  std::vector<DegreeLimit> take(Rational& least) {
    for (const auto& [number, each] : inside_) {
      const Rational once = each.trees + each.in;
      if (each.out > 0) {
        const Rational beyond = once > each.out ? Rational(once - each.out) : Rational(0);
        limit(each.capacity / each.out, beyond / each.out);
      } else {
        least = std::max<Rational>(least, once / each.capacity);
      }
    }
    return std::move(limits_);
  }

 private:
  void limit(const Rational& pace, const Rational& offset) {
    const DegreeLimit limit{pace, offset};
    if (std::find(limits_.begin(), limits_.end(), limit) == limits_.end()) limits_.push_back(limit);
  }

  std::map<int32_t, Inside> inside_;  // key: edge of the whole network
  std::vector<DegreeLimit> limits_;
};

}  // namespace

HostLimits host_limits(const Cluster& up, int64_t parts_up, const Cluster& down, int64_t parts_down) {
  HostLimits found;
  std::map<std::pair<int32_t, int32_t>, int32_t> kinds;  // key: shapes
  for (size_t h = 0; h < down.hosts.size(); ++h) {
    const auto next = static_cast<int32_t>(kinds.size());
    const auto [known, added] = kinds.try_emplace(std::pair(up.hosts[h].shape, down.hosts[h].shape), next);
    found.kind.push_back(known->second);
    if (!added) continue;
    Limiter limiter;
    limiter.add(up, up.hosts[h], parts_up);
    limiter.add(down, down.hosts[h], parts_down);
    found.limits.push_back(limiter.take(found.least));
  }
  return found;
}

}  // namespace weir::algorithms
