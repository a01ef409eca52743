// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "algorithms/cluster/gates.h"
#include "algorithms/cluster/hosts.h"
#include "algorithms/cluster/spread_paths.h"
#include "algorithms/cluster/ways.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

/// Pairs of a host share several paths where its links limit.
constexpr int kInnerPaths = 4;
/// Larger hosts have switches that join all ranks: nothing is gained by other paths than the shortest.
constexpr int kMostSpreadRanks = 32;
constexpr int kSpreadRounds = 6;
constexpr int64_t kMostPassageParts = 1 << 16;
constexpr size_t kMostSwitchPairs = size_t{1} << 20;

/// The whole network as one host without gates.
Cluster single_host(const Network& network, std::vector<int32_t> blocks) {
  Cluster cluster;
  Host host;
  host.nodes.resize(at(network.nodes));
  std::iota(host.nodes.begin(), host.nodes.end(), 0);
  host.edges.resize(network.edges.size());
  std::iota(host.edges.begin(), host.edges.end(), 0);
  cluster.hosts.push_back(std::move(host));
  HostShape shape;
  shape.network = network;
  shape.blocks = std::move(blocks);
  cluster.shapes.push_back(std::move(shape));
  cluster.attached.emplace_back();
  return cluster;
}

/// One path that has to be chosen, and where it belongs.
struct Wanted {
  std::vector<int32_t>* path;
  PathRequest demand;
};

/// The gates and paths of one shape.
class Exchanger {
 public:
  Exchanger(HostShape shape, const std::vector<Attachment>& uplinks, int32_t planes)
      : uplinks_(uplinks), planes_(planes) {
    made_.host = std::move(shape);
  }

  /// The gates that share what a rank receives, and what it sends on a plane, and in how many parts.
  void share(int64_t& entry_parts, int64_t& exit_parts) {
    const auto ranks = at(network().ranks());
    made_.entries.assign(ranks, std::vector<std::vector<Passage>>(at(planes_)));
    made_.exits = made_.entries;
    const std::vector<std::vector<Passage>> in = passages(-1);
    for (size_t rank = 0; rank < ranks; ++rank) {
      for (const Passage& each : in[rank]) made_.entries[rank][at(plane_of(each.gate))].push_back(each);
      entry_parts = std::lcm(entry_parts, std::max<int64_t>(1, parts_of(in[rank])));
    }
    for (int32_t plane = 0; plane < planes_; ++plane) {
      std::vector<std::vector<Passage>> out = passages(plane);
      for (size_t rank = 0; rank < ranks; ++rank) {
        exit_parts = std::lcm(exit_parts, std::max<int64_t>(1, parts_of(out[rank])));
        made_.exits[rank][at(plane)] = std::move(out[rank]);
      }
    }
  }

  /// Divides by the final numbers of parts.
  void divide(int64_t entry_parts, int64_t exit_parts) {
    for (auto& planes : made_.entries) {
      int64_t parts = 0;
      for (const auto& row : planes) parts += parts_of(row);
      for (auto& row : planes) {
        for (Passage& passage : row) passage.parts *= entry_parts / parts;
      }
    }
    for (auto& planes : made_.exits) {
      for (auto& row : planes) {
        const int64_t parts = parts_of(row);
        for (Passage& passage : row) passage.parts *= exit_parts / parts;
      }
    }
  }

  /// That take part.
  int members() const { return static_cast<int>(std::ranges::count(made_.host.blocks, 1)); }

  /// Parts of one block for each rank that enter on each plane.
  std::vector<int64_t> entering() const {
    std::vector<int64_t> parts(at(planes_));
    for (const auto& planes : made_.entries) {
      for (size_t plane = 0; plane < planes.size(); ++plane) {
        for (const Passage& passage : planes[plane]) parts[plane] += passage.parts;
      }
    }
    return parts;
  }

  /// Chooses paths. `leaving`: index: plane; parts that one rank sends to other hosts on it. `foreign`:
  /// number of ranks of other hosts.
  Status choose(const std::vector<int64_t>& leaving, int64_t foreign, int64_t entry_parts,
                int64_t exit_parts) {
    carried_.assign(network().edges.size(), 0);
    out_.assign(uplinks_.size(), 0);
    in_ = out_;
    const int paths = network().ranks() <= kMostSpreadRanks ? kInnerPaths : 1;
    for (Rank rank = 0; rank < network().ranks(); ++rank) {  // relays have no passages
      for (size_t plane = 0; plane < leaving.size(); ++plane) {
        for (Passage& passage : made_.exits[at(rank)][plane])
          leave(passage, rank, passage.parts * leaving[plane] * paths);
        for (Passage& passage : made_.entries[at(rank)][plane])
          enter(passage, rank, passage.parts * foreign * exit_parts * paths);
      }
    }
    want_inner(paths, entry_parts * exit_parts);
    return settle();
  }

  ExchangeShape take() { return std::move(made_); }

 private:
  const Network& network() const { return made_.host.network; }
  int32_t node(Rank rank) const { return network().rank_nodes[at(rank)]; }
  int32_t plane_of(int32_t gate) const { return uplinks_[at(made_.host.gates[at(gate)].uplink)].plane; }

  bool is_relay(size_t rank) const { return made_.host.blocks[rank] == 0; }

  static int64_t parts_of(const std::vector<Passage>& passages) {
    int64_t parts = 0;
    for (const Passage& passage : passages) parts += passage.parts;
    return parts;
  }

  /// The gates that each rank uses on a plane (-1: on all), and their parts of its data.
  std::vector<std::vector<Passage>> passages(int32_t plane) const {
    if (members() < network().ranks()) return shared_evenly(plane);
    std::vector<std::vector<Passage>> found(at(network().ranks()));
    for (Rank rank = 0; rank < network().ranks(); ++rank) {
      std::vector<int32_t> gates = gates_of(rank, plane);
      if (gates.empty()) gates = gates_of(-1, plane);
      for (const int32_t gate : gates) found[at(rank)].push_back({gate, 1, {}});
    }
    return found;
  }

  /// Gates take what their uplinks can carry of all data: first that of their own rank, then of others.
  std::vector<std::vector<Passage>> shared_evenly(int32_t plane) const {
    std::vector<int64_t> left(made_.host.gates.size());  // index: gate
    int64_t divisor = 0;
    for (size_t gate = 0; gate < left.size(); ++gate) {
      if (plane < 0 || plane_of(static_cast<int32_t>(gate)) == plane)
        left[gate] = made_.host.gates[gate].parts;
      divisor = std::gcd(divisor, left[gate]);
    }
    const int64_t each =
        std::accumulate(left.begin(), left.end(), int64_t{0}) / std::max<int64_t>(1, divisor);
    for (int64_t& parts : left) parts = parts / std::max<int64_t>(1, divisor) * members();
    std::vector<std::vector<Passage>> found(at(network().ranks()));
    std::vector<int64_t> wanted(at(network().ranks()));
    for (size_t rank = 0; rank < wanted.size(); ++rank) wanted[rank] = is_relay(rank) ? 0 : each;
    const auto take = [&](size_t rank, size_t gate) {
      const int64_t parts = std::min(wanted[rank], left[gate]);
      if (parts == 0) return;
      wanted[rank] -= parts;
      left[gate] -= parts;
      found[rank].push_back({static_cast<int32_t>(gate), parts, {}});
    };
    for (size_t gate = 0; gate < left.size(); ++gate) take(at(made_.host.gates[gate].rank), gate);
    for (size_t rank = 0; rank < wanted.size(); ++rank) {
      for (size_t gate = 0; gate < left.size() && wanted[rank] > 0; ++gate) take(rank, gate);
    }
    return found;
  }

  /// The gates of a rank (-1: of all) on a plane (-1: on all), those with the fewest edges.
  std::vector<int32_t> gates_of(Rank rank, int32_t plane) const {
    std::vector<int32_t> found;
    size_t fewest = SIZE_MAX;
    for (size_t g = 0; g < made_.host.gates.size(); ++g) {
      const Gate& gate = made_.host.gates[g];
      const auto number = static_cast<int32_t>(g);
      const size_t edges = gate.in.size() + gate.out.size();
      if ((rank >= 0 && gate.rank != rank) || (plane >= 0 && plane_of(number) != plane) || edges > fewest)
        continue;
      if (std::exchange(fewest, edges) != edges) found.clear();
      found.push_back(number);
    }
    return found;
  }

  void leave(Passage& passage, Rank rank, int64_t amount) {
    const Gate& gate = made_.host.gates[at(passage.gate)];
    for (const int32_t edge : gate.out) carried_[at(edge)] += amount;
    out_[at(gate.uplink)] += amount;
    if (gate.rank != rank) wanted_.push_back({&passage.edges, {node(rank), node(gate.rank), amount}});
  }

  void enter(Passage& passage, Rank rank, int64_t amount) {
    const Gate& gate = made_.host.gates[at(passage.gate)];
    for (const int32_t edge : gate.in) carried_[at(edge)] += amount;
    in_[at(gate.uplink)] += amount;
    if (gate.rank != rank) wanted_.push_back({&passage.edges, {node(gate.rank), node(rank), amount}});
  }

  void want_inner(int paths, int64_t amount) {
    made_.inner.assign(at(network().ranks()), std::vector<InnerPaths>(at(network().ranks())));
    for (Rank from = 0; from < network().ranks(); ++from) {
      for (Rank to = 0; to < network().ranks(); ++to) {
        if (from == to || is_relay(at(from)) || is_relay(at(to))) continue;
        InnerPaths& inner = made_.inner[at(from)][at(to)];
        inner.resize(at(paths));
        for (auto& path : inner) wanted_.push_back({&path, {node(from), node(to), amount}});
      }
    }
  }

  Status settle() {
    std::ranges::stable_sort(wanted_, {}, [](const Wanted& each) { return each.demand.from; });
    std::vector<PathRequest> demands;
    for (const Wanted& each : wanted_) demands.push_back(each.demand);
    double enough = 0;  // what uplinks take in any case
    for (size_t u = 0; u < uplinks_.size(); ++u) {
      enough = std::max(
          enough, static_cast<double>(std::max(in_[u], out_[u])) / static_cast<double>(uplinks_[u].capacity));
    }
    SpreadPaths spread = spread_paths(network(), demands, std::move(carried_), enough,
                                      network().ranks() <= kMostSpreadRanks ? kSpreadRounds : 0);
    for (size_t w = 0; w < wanted_.size(); ++w) {
      if (spread.paths[w].empty())
        return {Code::invalid_argument, "a host has ranks that do not reach each other: expected paths"};
      *wanted_[w].path = std::move(spread.paths[w]);
    }
    for (auto& row : made_.inner) {
      for (InnerPaths& inner : row) {
        if (!inner.empty() && std::ranges::count(inner, inner[0]) == std::ssize(inner)) inner.resize(1);
      }
    }
    return {};
  }

  ExchangeShape made_;
  const std::vector<Attachment>& uplinks_;
  const int32_t planes_;
  std::vector<int64_t> carried_;  // index: edge; load by the ways of gates
  std::vector<int64_t> in_;       // index: uplink; load
  std::vector<int64_t> out_;      // index: uplink; load
  std::vector<Wanted> wanted_;
};

/// The switches by which data leaves and enters on each plane.
Result<std::vector<std::pair<int32_t, int32_t>>> ends_of(const Network& network, const ExchangePlan& plan,
                                                         const Cluster& cluster) {
  std::vector<std::set<int32_t>> up(at(plan.planes)), down(at(plan.planes));
  for (const Host& host : plan.hosts) {
    const auto& uplinks = cluster.attached[at(host.shape)];
    for (const Gate& gate : plan.shapes[at(host.shape)].host.gates) {
      const Uplink& uplink = host.uplinks[at(gate.uplink)];
      up[at(uplinks[at(gate.uplink)].plane)].insert(network.edges[at(uplink.out)].to);
      down[at(uplinks[at(gate.uplink)].plane)].insert(network.edges[at(uplink.in)].from);
    }
  }
  std::set<std::pair<int32_t, int32_t>> pairs;
  for (size_t plane = 0; plane < up.size(); ++plane) {
    if (pairs.size() + up[plane].size() * down[plane].size() > kMostSwitchPairs) {
      return Status(Code::invalid_argument,
                    fmt::format("an all-to-all between more than {} pairs of leaf switches: expected fewer",
                                kMostSwitchPairs));
    }
    for (const int32_t from : up[plane]) {
      for (const int32_t to : down[plane]) {
        if (from != to) pairs.emplace(from, to);
      }
    }
  }
  return std::vector(pairs.begin(), pairs.end());
}

/// Makes a plane of every lane, so that no data has to change lanes between hosts.
void divide_into_lanes(Cluster& cluster) {
  std::map<std::pair<int32_t, int32_t>, int32_t> numbers;
  for (auto& uplinks : cluster.attached) {
    for (Attachment& each : uplinks) {
      const auto next = static_cast<int32_t>(numbers.size());
      each.plane = numbers.try_emplace({each.plane, each.lane}, next).first->second;
    }
  }
  cluster.planes = static_cast<int32_t>(numbers.size());
}

/// Whether each shape of hosts has a gate on every plane.
bool all_everywhere(const Cluster& cluster) {
  for (size_t s = 0; s < cluster.shapes.size(); ++s) {
    std::set<int32_t> planes;
    for (const Gate& gate : cluster.shapes[s].gates)
      planes.insert(cluster.attached[s][at(gate.uplink)].plane);
    if (std::ssize(planes) < cluster.planes) return false;
  }
  return true;
}

Result<Cluster> cluster_with_gates(const Network& network, std::span<const char> between_hosts, int relays) {
  std::vector<int32_t> blocks(network.rank_nodes.size(), 1);
  std::fill_n(blocks.rbegin(), relays, 0);
  if (std::ranges::count(between_hosts, 0) == std::ssize(between_hosts))
    return single_host(network, std::move(blocks));
  auto cluster = cluster_of(network, between_hosts, blocks);
  WEIR_TRY(cluster.status());
  WEIR_TRY(open_gates_only(*cluster).status());
  Cluster in_lanes = *cluster;
  divide_into_lanes(in_lanes);
  if (all_everywhere(in_lanes)) return in_lanes;
  if (all_everywhere(*cluster)) return cluster;
  return Status(Code::invalid_argument,
                "not all hosts have an uplink to each group of connected switches: expected that for an "
                "all-to-all");
}

}  // namespace

Result<ExchangePlan> plan_exchange(const Network& network, std::span<const char> between_hosts, int relays) {
  WEIR_TRY(check(network));
  if (relays < 0 || relays >= network.ranks())
    return Status(Code::invalid_argument,
                  fmt::format("{} of {} ranks are relays: expected fewer, or none", relays, network.ranks()));
  auto found = cluster_with_gates(network, between_hosts, relays);
  WEIR_TRY(found.status());
  Cluster& cluster = *found;
  ExchangePlan plan;
  plan.planes = cluster.planes;
  std::vector<Exchanger> exchangers;
  for (size_t s = 0; s < cluster.shapes.size(); ++s) {
    exchangers.emplace_back(std::move(cluster.shapes[s]), cluster.attached[s], plan.planes);
    exchangers.back().share(plan.entry_parts, plan.exit_parts);
    if (plan.entry_parts > kMostPassageParts || plan.exit_parts > kMostPassageParts)
      return Status(Code::invalid_argument, "hosts have too many different numbers of gates: expected fewer");
  }
  std::vector<int64_t> all(at(plan.planes));  // parts that enter on each plane
  for (Exchanger& exchanger : exchangers) exchanger.divide(plan.entry_parts, plan.exit_parts);
  for (const Host& host : cluster.hosts) {
    const std::vector<int64_t> own = exchangers[at(host.shape)].entering();
    for (size_t plane = 0; plane < own.size(); ++plane) all[plane] += own[plane];
  }
  for (size_t s = 0; s < exchangers.size(); ++s) {
    std::vector<int64_t> leaving = all;
    const std::vector<int64_t> own = exchangers[s].entering();
    for (size_t plane = 0; plane < own.size(); ++plane) leaving[plane] -= own[plane];
    WEIR_TRY(exchangers[s].choose(leaving, network.ranks() - relays - exchangers[s].members(),
                                  plan.entry_parts, plan.exit_parts));
    plan.shapes.push_back(exchangers[s].take());
  }
  plan.hosts = std::move(cluster.hosts);
  const auto ends = ends_of(network, plan, cluster);
  WEIR_TRY(ends.status());
  auto ways = ways_between(network, between_hosts, *ends);
  WEIR_TRY(ways.status());
  plan.ways = std::move(*ways);
  return plan;
}

}  // namespace weir::algorithms
