// SPDX-License-Identifier: Apache-2.0
// Direct parts: large NVLink domains use their NICs beside NVLink, and nothing else changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/cluster/cluster_planner.h"
#include "algorithms/cluster/cluster_trees.h"
#include "algorithms/cluster/direct_parts.h"
#include "algorithms/planner/direct_share.h"
#include "algorithms/planner/planner.h"
#include "algorithms/proof/tree_proof.h"
#include "tests/algorithms/cluster_networks.h"
#include "tests/algorithms/ground_truth.h"

namespace weir::algorithms {
namespace {

using ::testing::HasSubstr;

/// Hosts whose GPUs have 100 to a switch between them and 10 to the leaf each, over a NIC for `sharing` GPUs.
Network domains(int hosts, int gpus, int sharing = 1) {
  NetworkBuilder builder;
  const int32_t leaf = builder.node();
  for (int host = 0; host < hosts; ++host) {
    const int32_t first = builder.ranks(gpus);
    const int32_t hub = builder.node();
    int32_t nic = 0;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      builder.link(first + gpu, hub, 100);
      if (gpu % sharing == 0) {
        nic = builder.node();
        builder.link(nic, leaf, 10);
      }
      builder.link(first + gpu, nic, 10);
    }
  }
  return builder.take();
}

std::vector<int32_t> one_each(const Network& network) {
  return std::vector<int32_t>(network.rank_nodes.size(), 1);
}

TEST(DirectParts, LargeDomainsUseTheirNicsBesideNvlink) {
  for (const auto& [hosts, gpus] : {std::pair(8, 72), std::pair(16, 72), std::pair(4, 32), std::pair(2, 8)}) {
    const Network network = domains(hosts, gpus);
    for (const Collective collective :
         {Collective::all_gather, Collective::reduce_scatter, Collective::all_reduce}) {
      const auto plan = plan_collective(network, far_switches(network), collective);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      EXPECT_GT(plan->part_of_bound, Rational(999, 1000))
          << hosts << " x " << gpus << " " << name(collective);
    }
  }
}

TEST(DirectParts, NicsThatLimitCarryNone) {
  const Network network = domains(20, 8);  // a leaf of 20 hosts brings 19/20 of all data through 80
  const auto plan = plan_collective(network, far_switches(network), Collective::all_gather);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->part_of_bound, 1);
  EXPECT_EQ(plan->down->plan.direct_parts, 0);
}

/// Every share is proven, and what is spelled out loads the same edges as often.
TEST(DirectParts, AreWhatTheJudgeOfTreesSees) {
  for (const int sharing : {1, 2}) {
    const Network network = domains(3, 4, sharing);
    const std::vector<int32_t> blocks = one_each(network);
    const auto plan = plan_cluster(network, far_switches(network), blocks);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    for (const int64_t direct : {0, 1, 2, 5}) {
      const auto with = with_direct_parts(*plan, direct, 5);
      ASSERT_TRUE(with.has_value());
      const auto loads = check_cluster(network, *with, blocks);
      ASSERT_TRUE(loads.ok()) << loads.status().message();
      const auto packing = spelled_out(network, *with, exactly(loads->time));
      ASSERT_TRUE(packing.ok()) << packing.status().message();
      const auto trees = check_packing(network, *packing);
      ASSERT_TRUE(trees.ok()) << trees.status().message();
      for (size_t e = 0; e < network.edges.size(); ++e)
        ASSERT_EQ(trees->trees[e], static_cast<int64_t>(loads->parts[e])) << direct << ", edge " << e;
      if (direct == 5) continue;
      const auto again = check_cluster(network, without_direct_parts(*with), blocks);
      ASSERT_TRUE(again.ok()) << again.status().message();
      EXPECT_EQ(again->time, check_cluster(network, *plan, blocks)->time);
    }
  }
}

TEST(DirectParts, EveryLieIsRefused) {
  struct Lie {
    const char* words;
    std::function<void(ClusterPlan&)> tell;
  };
  const std::vector<Lie> kLies = {
      {"the gates of rank 2 take", [](ClusterPlan& plan) { --plan.shapes[0].gates[2].direct; }},
      {"of 0 direct parts", [](ClusterPlan& plan) { plan.direct_parts = 0; }},
      {"parts are direct", [](ClusterPlan& plan) { plan.direct_parts = plan.parts + 1; }},
      {"has an invalid rank", [](ClusterPlan& plan) { plan.shapes[0].gates[1].direct = -1; }},
      {"direct parts to gate 3, which takes", [](ClusterPlan& plan) { plan.couplings[0].direct.pop_back(); }},
      {"gates that do not exist", [](ClusterPlan& plan) { plan.couplings[0].direct[0].out = 9; }}};
  const Network network = domains(3, 4);
  const auto plan = plan_cluster(network, far_switches(network), one_each(network));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ClusterPlan right = *with_direct_parts(*plan, 1, plan->parts + 1);
  for (size_t lie = 0; lie < kLies.size(); ++lie) {
    ClusterPlan wrong = right;
    kLies[lie].tell(wrong);
    EXPECT_THAT(check_cluster(network, wrong, one_each(network)).status().message(),
                HasSubstr(kLies[lie].words))
        << lie;
  }
}

TEST(DirectParts, UnlikeHostsHaveNone) {
  const Network network = uneven_cluster(3);
  const auto plan = plan_cluster(network, far_switches(network), one_each(network));
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_GT(plan->shapes.size(), 1u);
  EXPECT_FALSE(with_direct_parts(*plan, 1, 2).has_value());
}

}  // namespace
}  // namespace weir::algorithms
