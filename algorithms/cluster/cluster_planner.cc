// SPDX-License-Identifier: Apache-2.0

#include "algorithms/cluster/cluster_planner.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "algorithms/cluster/caterpillars.h"
#include "algorithms/cluster/degrees.h"
#include "algorithms/cluster/gates.h"
#include "algorithms/cluster/host_groups.h"
#include "algorithms/cluster/host_limits.h"
#include "algorithms/cluster/hosts.h"
#include "algorithms/cluster/transfers.h"
#include "algorithms/cluster/ways.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

using Pairs = std::vector<std::pair<int32_t, int32_t>>;

/// What is sent between two switches is divided into up to this number of parts.
constexpr int64_t kMostWayParts = 1 << 20;
/// If more are needed for exact shares of all paths, shares are rounded to this number.
constexpr int64_t kRoundedWayParts = 1 << 12;

Pairs different(Pairs pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

/// Data that leaves by a gate should enter by a gate of the same lane, preferably the one with the same
/// number there; else by one of the same plane. Both shapes have the same number of parts in each plane.
Coupling couple(const Cluster& cluster, int32_t from, int32_t to) {
  Coupling coupling{from, to, {}, {}};
  const auto& senders = cluster.shapes[at(from)].gates;
  const auto& receivers = cluster.shapes[at(to)].gates;
  const auto attached = [&](int32_t shape, const Gate& gate) -> const Attachment& {
    return cluster.attached[at(shape)][at(gate.uplink)];
  };
  std::vector<int64_t> left;
  std::vector<int64_t> wanted;
  for (const Gate& gate : senders) left.push_back(gate.parts);
  for (const Gate& gate : receivers) wanted.push_back(gate.parts);
  for (const int nearness : {2, 1, 0}) {
    const bool same = nearness == 2 && senders.size() == receivers.size();  // only the gate with that number
    for (size_t in = 0; in < receivers.size(); ++in) {
      for (size_t out = same ? in : 0; out < (same ? in + 1 : senders.size()) && wanted[in] > 0; ++out) {
        const Attachment& there = attached(to, receivers[in]);
        const Attachment& here = attached(from, senders[out]);
        if (here.plane != there.plane || (nearness > 0 && here.lane != there.lane)) continue;
        const int64_t parts = std::min(left[out], wanted[in]);
        if (parts == 0) continue;
        coupling.pieces.push_back({static_cast<int32_t>(out), static_cast<int32_t>(in), parts});
        left[out] -= parts;
        wanted[in] -= parts;
      }
    }
  }
  std::stable_sort(coupling.pieces.begin(), coupling.pieces.end(),
                   [](const auto& a, const auto& b) { return a.in < b.in; });
  return coupling;
}

std::vector<Coupling> couplings_of(const Cluster& cluster, const std::vector<HostTransfer>& transfers) {
  Pairs pairs;
  for (const HostTransfer& transfer : transfers) {
    const std::pair pair = {cluster.hosts[at(transfer.from)].shape, cluster.hosts[at(transfer.to)].shape};
    if (pairs.empty() || pairs.back() != pair) pairs.push_back(pair);
  }
  std::vector<Coupling> couplings;
  for (const auto& [from, to] : different(std::move(pairs))) couplings.push_back(couple(cluster, from, to));
  return couplings;
}

/// The pairs of switches that need paths.
Pairs ends_of_ways(const Network& network, const ClusterPlan& plan) {
  Pairs pairs;
  for (const HostTransfer& transfer : plan.transfers) {
    const Host& from = plan.hosts[at(transfer.from)];
    const Host& to = plan.hosts[at(transfer.to)];
    const auto coupling = std::lower_bound(
        plan.couplings.begin(), plan.couplings.end(), std::pair(from.shape, to.shape),
        [](const Coupling& each, const auto& key) { return std::pair(each.from, each.to) < key; });
    for (const Coupling::Piece& piece : coupling->pieces) {
      const Gate& out = plan.shapes[at(from.shape)].gates[at(piece.out)];
      const Gate& in = plan.shapes[at(to.shape)].gates[at(piece.in)];
      const int32_t start = network.edges[at(from.uplinks[at(out.uplink)].out)].to;
      const int32_t end = network.edges[at(to.uplinks[at(in.uplink)].in)].from;
      if (start != end && (pairs.empty() || pairs.back() != std::pair(start, end)))
        pairs.emplace_back(start, end);
    }
  }
  return different(std::move(pairs));
}

/// The least common multiple of the sums of each way's weights, or more than kMostWayParts.
int64_t common_multiple(const std::vector<Way>& ways) {
  int64_t multiple = 1;
  for (const Way& way : ways) {
    int64_t sum = 0;
    for (const Way::Path& path : way.paths) sum += path.weight;
    multiple = std::lcm(multiple, sum);
    if (multiple > kMostWayParts) break;
  }
  return multiple;
}

/// The plan for transfers between the hosts of a cluster with gates; consumes the cluster.
Result<ClusterPlan> with_transfers(const Network& network, std::span<const char> between_hosts,
                                   Cluster cluster, int64_t parts, std::vector<HostTransfer> transfers) {
  ClusterPlan plan;
  plan.transfers = std::move(transfers);
  plan.couplings = couplings_of(cluster, plan.transfers);
  plan.hosts = std::move(cluster.hosts);
  plan.shapes = std::move(cluster.shapes);
  plan.first_block = std::move(cluster.first_block);
  auto ways = ways_between(network, between_hosts, ends_of_ways(network, plan));
  WEIR_TRY(ways.status());
  plan.ways = std::move(*ways);

  int64_t multiple = common_multiple(plan.ways);
  if (multiple > kMostWayParts) {  // some cables are missing nearly everywhere
    multiple = kRoundedWayParts;
    for (Way& way : plan.ways) round_weights(way, multiple);
  }
  plan.parts = parts * multiple;
  for (HostShape& shape : plan.shapes) {
    for (Gate& gate : shape.gates) gate.parts *= multiple;
  }
  for (Coupling& coupling : plan.couplings) {
    for (Coupling::Piece& piece : coupling.pieces) piece.parts *= multiple;
  }
  return plan;
}

/// One half of an all-reduce with free roots, before blocks are assigned.
struct Half {
  Network network;
  Cluster cluster;
  int64_t parts = 1;
};

Result<Half> half_of(Network network, std::span<const char> between_hosts) {
  const std::vector<int32_t> none(network.rank_nodes.size());
  auto cluster = cluster_of(network, between_hosts, none);
  WEIR_TRY(cluster.status());
  cluster->first_block.back() = 1;  // gates and trees handle data from outside
  const auto parts = open_gates(*cluster);
  WEIR_TRY(parts.status());
  for (HostShape& shape : cluster->shapes) shape.own = shape.foreign;
  return Half{std::move(network), std::move(*cluster), *parts};
}

}  // namespace

Result<ClusterPlan> plan_cluster(const Network& network, std::span<const char> between_hosts,
                                 std::span<const int32_t> blocks, int skip) {
  WEIR_TRY(check(network));
  auto cluster = cluster_of(network, between_hosts, blocks);
  WEIR_TRY(cluster.status());
  if (cluster->first_block.back() == 0)
    return Status(Code::invalid_argument, "no rank has a block: expected at least one block to spread");
  const auto parts = open_gates(*cluster);
  WEIR_TRY(parts.status());

  const auto levels = std::span(cluster->levels).subspan(std::min(cluster->levels.size(), at(skip)));
  const int used = static_cast<int>(levels.size());
  auto transfers = nested_rings(levels, cluster->first_block);
  auto plan = with_transfers(network, between_hosts, std::move(*cluster), *parts, std::move(transfers));
  if (plan.ok()) plan->levels = used;
  return plan;
}

Result<FreeRoots> plan_free_roots(const Network& network, std::span<const char> between_hosts) {
  WEIR_TRY(check(network));
  auto down = half_of(network, between_hosts);
  WEIR_TRY(down.status());
  auto up = half_of(reversed(network), between_hosts);
  WEIR_TRY(up.status());
  const auto same = [](const Host& a, const Host& b) { return a.nodes == b.nodes; };
  if (!std::equal(up->cluster.hosts.begin(), up->cluster.hosts.end(), down->cluster.hosts.begin(),
                  down->cluster.hosts.end(), same))
    return Status(Code::invalid_argument,
                  "the reversed network groups hosts differently: expected links in both directions");

  const HostLimits limits = host_limits(up->cluster, up->parts, down->cluster, down->parts);
  const std::vector<HostGroup> groups = host_groups(down->cluster);
  const Degrees degrees = share_degrees(groups, limits.kind, limits.limits, limits.least);
  const HostTrees trees = caterpillars(groups, degrees);
  const int levels = static_cast<int>(down->cluster.levels.size());
  FreeRoots plans;
  for (const bool sums : {true, false}) {
    Half& half = sums ? *up : *down;
    half.cluster.first_block = trees.first_block;
    auto plan =
        with_transfers(half.network, between_hosts, std::move(half.cluster), half.parts, trees.transfers);
    WEIR_TRY(plan.status());
    plan->levels = levels;
    plan->free_roots = true;
    (sums ? plans.up : plans.down) = std::move(*plan);
  }
  return plans;
}

}  // namespace weir::algorithms
