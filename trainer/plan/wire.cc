// SPDX-License-Identifier: Apache-2.0

#include "trainer/plan/wire.h"

#include <fmt/format.h>

namespace weir::trainer::plan {
namespace {

/// `seconds` on the links that groups within this number of consecutive ranks use.
Transfer on_links_of(const Cluster& cluster, int ranks, double seconds) {
  return ranks <= cluster.gpus ? Transfer{seconds, 0} : Transfer{0, seconds};
}

Result<Transfer> gather_among(const Cluster& cluster, int ranks, double bytes) {
  const auto seconds = cluster.seconds(Collective::all_gather, {ranks, 1}, bytes);
  WEIR_TRY(seconds.status());
  return on_links_of(cluster, ranks, *seconds);
}

}  // namespace

std::string_view name(Strategy strategy) {
  switch (strategy) {
    case Strategy::no_shard: return "NO_SHARD";
    case Strategy::shard_grad_op: return "SHARD_GRAD_OP";
    case Strategy::full_shard: return "FULL_SHARD";
    case Strategy::hybrid_shard: return "HYBRID_SHARD";
    case Strategy::hpz: return "HPZ";
  }
  return "";
}

Result<Groups> groups_of(Strategy strategy, const Cluster& cluster, int shard) {
  const int ranks = cluster.ranks();
  if (strategy == Strategy::no_shard) return Groups{strategy, ranks, 1};
  if (!has_groups(strategy)) return Groups{strategy, ranks, ranks};
  const bool even =
      shard >= 1 && ranks % shard == 0 && (shard % cluster.gpus == 0 || cluster.gpus % shard == 0);
  if (!even)
    return Status(Code::invalid_argument,
                  fmt::format("a shard group of {} ranks does not divide {} nodes of {} GPUs; expected whole "
                              "nodes or an even part of one",
                              shard, cluster.nodes, cluster.gpus));
  return strategy == Strategy::hpz ? Groups{strategy, ranks, ranks, shard} : Groups{strategy, ranks, shard};
}

Result<Transfer> gather_time(const Cluster& cluster, const Groups& groups, double bytes) {
  return gather_among(cluster, groups.shard, bytes);
}

Result<Transfer> gather_again_time(const Cluster& cluster, const Groups& groups, double bytes) {
  return gather_among(cluster, groups.secondary, bytes);
}

Result<Transfer> reduce_time(const Cluster& cluster, const Groups& groups, double bytes) {
  const auto scatter = cluster.seconds(Collective::reduce_scatter, {groups.shard, 1}, bytes);
  WEIR_TRY(scatter.status());
  // All shards of a unit are reduced among their replicas at once.
  const auto replicas = cluster.seconds(Collective::all_reduce, {groups.ranks / groups.shard, groups.shard},
                                        bytes / groups.shard);
  WEIR_TRY(replicas.status());
  const Transfer inner = on_links_of(cluster, groups.shard, *scatter);
  const Transfer outer = on_links_of(cluster, groups.ranks, *replicas);
  return Transfer{inner.inside + outer.inside, inner.between + outer.between};
}

}  // namespace weir::trainer::plan
