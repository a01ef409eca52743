// SPDX-License-Identifier: Apache-2.0
// Times of collectives against the closed forms of rings.
#include <gtest/gtest.h>

#include "trainer/plan/wire.h"

namespace weir::trainer::plan {
namespace {

constexpr double kBytes = 24e9;

Cluster cluster(double nodes) {
  Cluster cluster;
  cluster.nodes = nodes;
  cluster.gpus = 8;
  cluster.inside = 100e9;
  cluster.nic = 8e9;
  cluster.usable = 0.5;
  cluster.latency = 1e-3;
  cluster.inside_latency = 1e-5;
  return cluster;
}

Groups groups(Strategy strategy, const Cluster& cluster, int shard = 0) {
  return *groups_of(strategy, cluster, shard);
}

TEST(PlanWire, AFlatRingLoadsEachNodeOnce) {
  const Cluster four = cluster(4);
  const Transfer gather = gather_time(four, groups(Strategy::full_shard, four), kBytes);
  EXPECT_EQ(gather.inside, 0);
  EXPECT_DOUBLE_EQ(gather.between, kBytes * 31 / 32 / 4e9 + 31 * 1e-3);
  const Transfer reduce = reduce_time(four, groups(Strategy::full_shard, four), kBytes);
  EXPECT_DOUBLE_EQ(reduce.between, gather.between);
}

TEST(PlanWire, HierarchiesHaveFewerStepsBetweenNodes) {
  Cluster four = cluster(4);
  four.collective = Collective::hierarchical;
  const Transfer gather = gather_time(four, groups(Strategy::full_shard, four), kBytes);
  EXPECT_DOUBLE_EQ(gather.between, kBytes * 3 / 4 / 4e9 + 3 * 1e-3);
  EXPECT_DOUBLE_EQ(gather.inside, kBytes * 7 / 8 / 100e9 + 7 * 1e-5);
}

TEST(PlanWire, OneNodeUsesItsOwnLinksOnly) {
  const Cluster one = cluster(1);
  const Transfer gather = gather_time(one, groups(Strategy::full_shard, one), kBytes);
  EXPECT_EQ(gather.between, 0);
  EXPECT_DOUBLE_EQ(gather.inside, kBytes * 7 / 8 / 100e9 + 7 * 1e-5);
}

TEST(PlanWire, HybridGathersInsideAndReducesShardsBetween) {
  const Cluster four = cluster(4);
  const Groups hybrid = groups(Strategy::hybrid_shard, four, 8);
  const Transfer gather = gather_time(four, hybrid, kBytes);
  EXPECT_EQ(gather.between, 0);
  EXPECT_DOUBLE_EQ(gather.inside, kBytes * 7 / 8 / 100e9 + 7 * 1e-5);
  const Transfer reduce = reduce_time(four, hybrid, kBytes);
  EXPECT_DOUBLE_EQ(reduce.between, 2 * kBytes * 3 / 4 / 4e9 + 2 * 3 * 1e-3);
}

TEST(PlanWire, GroupsOfNodesShareTheNics) {
  const Cluster four = cluster(4);
  const Transfer reduce = reduce_time(four, groups(Strategy::hybrid_shard, four, 16), kBytes);
  // A reduce-scatter over two nodes; of each half of the unit two replicas, so a half per node twice half.
  EXPECT_DOUBLE_EQ(reduce.between,
                   kBytes * 15 / 16 / 4e9 + 15 * 1e-3 + 2 * (kBytes / 2) / 2 / 4e9 + 2 * 1e-3);
}

TEST(PlanWire, NoShardReducesEverythingTwiceAround) {
  const Cluster four = cluster(4);
  const Groups none = groups(Strategy::no_shard, four);
  EXPECT_EQ(gather_time(four, none, kBytes).between, 0);
  EXPECT_DOUBLE_EQ(reduce_time(four, none, kBytes).between, 2 * (kBytes * 31 / 32 / 4e9 + 31 * 1e-3));
}

TEST(PlanWire, OneRankHasNothingToDo) {
  Cluster one = cluster(1);
  one.gpus = 1;
  const Groups all = groups(Strategy::full_shard, one);
  EXPECT_EQ(gather_time(one, all, kBytes).inside, 0);
  EXPECT_EQ(reduce_time(one, all, kBytes).inside, 0);
}

TEST(PlanWire, RefusesGroupsThatDoNotDivide) {
  const Cluster four = cluster(4);
  for (const int shard : {0, 3, 12, 24}) {
    const auto result = groups_of(Strategy::hybrid_shard, four, shard);
    ASSERT_FALSE(result.ok()) << shard;
    EXPECT_NE(result.status().message().find("does not divide 4 nodes of 8 GPUs"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir::trainer::plan
