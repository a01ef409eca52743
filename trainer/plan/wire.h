// SPDX-License-Identifier: Apache-2.0
/// The time that gathers and reductions of a unit take, per shard group and replica group.
///
/// Thread safety: as links.h.
#pragma once

#include <string_view>

#include "src/base/status.h"
#include "trainer/plan/cluster.h"

namespace weir::trainer::plan {

/// Those of trainer/shard/layout.h.
enum class Strategy { no_shard, shard_grad_op, full_shard, hybrid_shard, hpz };

std::string_view name(Strategy strategy);

/// Whether gathered parameters are released after every use.
constexpr bool reshards(Strategy strategy) {
  return strategy != Strategy::no_shard && strategy != Strategy::shard_grad_op;
}

/// Whether the strategy has groups of a size that may be chosen.
constexpr bool has_groups(Strategy strategy) {
  return strategy == Strategy::hybrid_shard || strategy == Strategy::hpz;
}

/// Seconds for which an operation occupies the links inside nodes, and then those between nodes.
struct Transfer {
  double inside = 0;
  double between = 0;
};

/// How ranks share a model. All functions below require that check() succeeds.
struct Groups {
  Strategy strategy = Strategy::full_shard;
  int ranks = 1;
  int shard = 1;      ///< ranks that share one copy of the states: 1 for NO_SHARD, all for FULL_SHARD and HPZ
  int secondary = 0;  ///< HPZ: ranks that share a secondary copy of the parameters; else 0
};

/// The groups of a strategy on a cluster; `shard` counts for HYBRID_SHARD and HPZ only, whose groups are
/// whole nodes or even parts of one. An error states why the ranks cannot be divided like this.
Result<Groups> groups_of(Strategy strategy, const Cluster& cluster, int shard);

/// All-gather of `bytes` in each shard group.
Result<Transfer> gather_time(const Cluster& cluster, const Groups& groups, double bytes);
/// With HPZ, the later ones of a step: in each group of a secondary copy.
Result<Transfer> gather_again_time(const Cluster& cluster, const Groups& groups, double bytes);

/// Reduction of a unit's gradients of `bytes`: a reduce-scatter in the shard group and an all-reduce of the
/// shards between replicas, if there are any.
Result<Transfer> reduce_time(const Cluster& cluster, const Groups& groups, double bytes);

}  // namespace weir::trainer::plan
