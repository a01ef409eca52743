// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weir::trainer::plan {
namespace {

/// One pass of `bytes` around each of several disjoint groups of `ranks` ranks; each group consists of whole
/// nodes or is part of one.
Transfer pass(const Cluster& cluster, double ranks, double bytes) {
  if (ranks <= 1) return {};
  const double part = (ranks - 1) / ranks;
  if (ranks <= cluster.gpus) return {bytes * part / cluster.inside + (ranks - 1) * cluster.inside_latency, 0};
  if (cluster.collective == Collective::ring)
    return {0, bytes * part / std::min(cluster.between(), cluster.inside) + (ranks - 1) * cluster.latency};
  const double nodes = ranks / cluster.gpus;
  const double inside = cluster.gpus - 1;
  return {bytes * inside / cluster.gpus / cluster.inside + inside * cluster.inside_latency,
          bytes * (nodes - 1) / nodes / cluster.between() + (nodes - 1) * cluster.latency};
}

/// All-reduce of each rank's shard among its replicas; all shards of a node share its NICs.
Transfer replicas(const Cluster& cluster, const Groups& groups, double bytes) {
  const double copies = groups.ranks / groups.shard;
  if (copies <= 1) return {};
  const double part = 2 * (copies - 1) / copies;
  if (groups.ranks <= cluster.gpus)
    return {part * bytes / groups.shard / cluster.inside + 2 * (copies - 1) * cluster.inside_latency, 0};
  const double per_node = bytes * std::min(1.0, cluster.gpus / groups.shard);
  return {0, part * per_node / cluster.between() + 2 * (copies - 1) * cluster.latency};
}

}  // namespace

std::string_view name(Strategy strategy) {
  switch (strategy) {
    case Strategy::no_shard: return "NO_SHARD";
    case Strategy::shard_grad_op: return "SHARD_GRAD_OP";
    case Strategy::full_shard: return "FULL_SHARD";
    case Strategy::hybrid_shard: return "HYBRID_SHARD";
  }
  return "";
}

Result<Groups> groups_of(Strategy strategy, const Cluster& cluster, int shard) {
  const double ranks = cluster.nodes * cluster.gpus;
  if (strategy == Strategy::no_shard) return Groups{strategy, ranks, 1};
  if (strategy != Strategy::hybrid_shard) return Groups{strategy, ranks, ranks};
  const double group = shard;
  const bool even = group >= 1 && std::fmod(ranks, group) == 0 &&
                    (std::fmod(group, cluster.gpus) == 0 || std::fmod(cluster.gpus, group) == 0);
  if (!even)
    return Status(Code::invalid_argument,
                  fmt::format("a shard group of {} ranks does not divide {} nodes of {} GPUs; expected whole "
                              "nodes or an even part of one",
                              shard, cluster.nodes, cluster.gpus));
  return Groups{strategy, ranks, group};
}

Transfer gather_time(const Cluster& cluster, const Groups& groups, double bytes) {
  if (bytes <= 0) return {};
  return pass(cluster, groups.shard, bytes);
}

Transfer reduce_time(const Cluster& cluster, const Groups& groups, double bytes) {
  if (bytes <= 0) return {};
  // An all-reduce of everything is a reduce-scatter and an all-gather over all ranks.
  if (groups.shard == 1) {
    const Transfer once = pass(cluster, groups.ranks, bytes);
    return {2 * once.inside, 2 * once.between};
  }
  const Transfer scatter = pass(cluster, groups.shard, bytes);
  const Transfer shards = replicas(cluster, groups, bytes);
  return {scatter.inside + shards.inside, scatter.between + shards.between};
}

}  // namespace weir::trainer::plan
