// SPDX-License-Identifier: Apache-2.0
/// The time that gathers and reductions of a unit take: closed forms for rings, per shard group and replica
/// group.
///
/// Thread safety: pure functions.
#pragma once

#include <string_view>

#include "src/base/status.h"
#include "trainer/plan/cluster.h"

namespace weir::trainer::plan {

enum class Strategy { no_shard, shard_grad_op, full_shard, hybrid_shard };

std::string_view name(Strategy strategy);

/// Seconds for which an operation occupies the links inside nodes, and then those between nodes.
struct Transfer {
  double inside = 0;
  double between = 0;
};

/// How ranks share a model. All functions below require that check() succeeds.
struct Groups {
  Strategy strategy = Strategy::full_shard;
  double ranks = 1;
  double shard = 1;  ///< ranks that share one copy of the states: 1 for NO_SHARD, all for FULL_SHARD
};

/// The groups of a strategy on a cluster; `shard` counts for HYBRID_SHARD only, whose groups are whole nodes
/// or even parts of one. An error states why the ranks cannot be divided like this.
Result<Groups> groups_of(Strategy strategy, const Cluster& cluster, int shard);

/// All-gather of `bytes` in each shard group. t = bytes (W-1)/W / rate + steps * latency, where the links of
/// a node carry the whole unit once per pass.
Transfer gather_time(const Cluster& cluster, const Groups& groups, double bytes);

/// Reduction of a unit's gradients of `bytes`: a reduce-scatter in the shard group and an all-reduce of the
/// shards between replicas, if there are any.
Transfer reduce_time(const Cluster& cluster, const Groups& groups, double bytes);

}  // namespace weir::trainer::plan
