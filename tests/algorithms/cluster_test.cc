// SPDX-License-Identifier: Apache-2.0
// Plans for many hosts: as good as the bound on clusters that people have, and honest elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "algorithms/bound/bound.h"
#include "algorithms/cluster/cluster_planner.h"
#include "algorithms/cluster/cluster_trees.h"
#include "algorithms/cluster/ways.h"
#include "algorithms/packing/trees.h"
#include "algorithms/proof/cluster_proof.h"
#include "algorithms/proof/tree_proof.h"
#include "tests/algorithms/cluster_networks.h"
#include "tests/algorithms/ground_truth.h"
#include "tests/base/sanitized.h"

namespace weir::algorithms {
namespace {

using ::testing::HasSubstr;

struct Judged {
  ClusterPlan plan;
  ClusterLoads loads;
};

std::vector<int32_t> one_block_each(const Network& network) {
  return std::vector<int32_t>(network.rank_nodes.size(), 1);
}

Judged judged(const Network& network, const std::vector<int32_t>& blocks) {
  auto plan = plan_cluster(network, far_switches(network), blocks);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  if (!plan.ok()) return {};
  auto loads = check_cluster(network, *plan, blocks);
  EXPECT_TRUE(loads.ok()) << loads.status().message();
  if (!loads.ok()) return {};
  return {std::move(*plan), std::move(*loads)};
}

TEST(Cluster, ReachesTheBoundOnEveryClusterThatIsKnown) {
  for (const AllGatherTruth& truth : cluster_truths()) {
    const Network network = truth.network();
    for (const bool backwards : {false, true}) {
      const auto bound =
          lower_bound(network, backwards ? Collective::reduce_scatter : Collective::all_gather);
      ASSERT_TRUE(bound.ok()) << bound.status().message();
      const Judged plan = judged(backwards ? reversed(network) : network, one_block_each(network));
      EXPECT_EQ(text(plan.loads.time), text(bound->time)) << truth.name;
    }
  }
}

/// A cluster with more or less oversubscription; with the last one of each an all-gather feels it.
struct Spine {
  std::string name;
  LeafSpine network;
};

std::vector<Spine> spines() {
  std::vector<Spine> all;
  const auto add = [&](const std::string& name, LeafSpine network, std::initializer_list<double> ratios) {
    const double down = network.nodes_per_leaf * network.nic * (network.rail ? 1 : network.nics);
    for (const double ratio : ratios) {
      network.uplink = down / ratio;
      all.push_back({name, network});
    }
  };
  add("KT 40", {40, 8, 0, 2, 25, 50, 20, 0, false}, {1, 2, 4, 8, 39, 100});
  add("KT 300", {300, 8, 0, 2, 25, 50, 20, 0, false}, {1, 2, 4, 8, 21, 50});
  add("SuperPOD 40", {40, 8, 300, 8, 25, 25, 20, 0, true}, {1, 2, 4, 39, 50});
  add("SuperPOD 140", {140, 8, 300, 8, 25, 25, 20, 0, true}, {1, 2, 4, 23, 100});
  add("Vela 200", {200, 8, 300, 2, 12.5, 32, 5, 0, false}, {1, 2, 4, 5, 20});
  add("Vela 200, usable", {200, 8, 300, 1, 15, 60, 5, 0, false}, {1, 1.25, 2, 4, 10});
  add("NSML 16", {16, 8, 300, 4, 25, 50, 8, 0, false}, {1, 2, 15, 40});
  return all;
}

/// What passes the uplinks of the leaves of each group, in one direction.
std::vector<Ratio> spine_shares(const Network& network, const ClusterLoads& loads, const LeafSpine& shape,
                                bool upwards) {
  const int leaves = shape.rail ? shape.nics : 1;
  std::vector<Int128> parts;
  int leaf = 0;
  for (size_t e = 0; e < network.edges.size(); ++e) {
    const Edge& edge = network.edges[e];
    if ((upwards ? edge.to : edge.from) != 0) continue;  // node 0 is the spine
    if (leaf++ % leaves == 0) parts.push_back(0);
    parts.back() += loads.parts[e];
  }
  std::vector<Ratio> shares;
  for (const Int128 each : parts) shares.emplace_back(each, loads.whole);
  return shares;
}

TEST(Cluster, ReachesTheBoundWhateverLeavesHaveUpwardsAndCrossesSpinesAsLittleAsCanBe) {
  for (const Spine& spine : spines()) {
    const auto words = spine.name + ", uplinks of " + std::to_string(spine.network.uplink);
    const int groups = spine.network.nodes / spine.network.nodes_per_leaf;
    for (const bool backwards : {false, true}) {
      const Network forwards = leaf_spine(spine.network);
      const Network network = backwards ? reversed(forwards) : forwards;
      const Judged plan = judged(network, one_block_each(network));
      const auto bound =
          lower_bound(forwards, backwards ? Collective::reduce_scatter : Collective::all_gather);
      ASSERT_TRUE(bound.ok()) << bound.status().message();
      EXPECT_EQ(text(plan.loads.time), text(bound->time)) << words;
      for (const bool upwards : {false, true}) {
        const auto shares = spine_shares(network, plan.loads, spine.network, upwards);
        ASSERT_EQ(shares.size(), static_cast<size_t>(groups)) << words;
        for (const Ratio& share : shares) EXPECT_EQ(text(share), text(Ratio(groups - 1, groups))) << words;
      }
    }
  }
}

/// Several boxes of known machines, of which the best is known; with few boxes what is in them limits.
TEST(Cluster, ReachesTheBoundOnBoxesWhereWhatJoinsThemLimits) {
  int tried = 0;
  for (const AllGatherTruth& truth : all_gather_truths()) {
    const Network network = truth.network();
    std::vector<char> between = far_switches(network);
    if (truth.name.substr(0, 5) == "MI250") between[0] = 1;  // dies are on the global switch themselves
    if (truth.ranks <= 16 || std::count(between.begin(), between.end(), 1) == 0) continue;
    const auto blocks = one_block_each(network);
    const auto plan = plan_cluster(network, between, blocks);
    ASSERT_TRUE(plan.ok()) << truth.name << ": " << plan.status().message();
    const auto loads = check_cluster(network, *plan, blocks);
    ASSERT_TRUE(loads.ok()) << truth.name << ": " << loads.status().message();
    const Ratio best(truth.each.denominator,
                     static_cast<Int128>(truth.each.numerator) * truth.ranks * 1'000'000);
    const bool hosts_limit = truth.name == "MI250-16 x2" || truth.name == "MI250-16 x3";
    EXPECT_GE(loads->time, best) << truth.name;
    EXPECT_EQ(loads->time == best, !hosts_limit) << truth.name << " takes " << text(loads->time);
    ++tried;
  }
  EXPECT_GE(tried, 14);
}

TEST(Cluster, AllReduceReachesItsBoundToo) {
  for (const AllGatherTruth& truth : cluster_truths()) {
    const Network network = truth.network();
    const auto blocks = one_block_each(network);
    const Rational time =
        exactly(judged(network, blocks).loads.time) + exactly(judged(reversed(network), blocks).loads.time);
    const auto bound = lower_bound(network, Collective::all_reduce);
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    EXPECT_EQ(exactly(bound->time), time) << truth.name;
  }
}

TEST(Cluster, BroadcastsFromAnyRank) {
  const Network network = leaf_spine({12, 8, 300, 4, 25, 50, 5, 100, true});
  for (const Rank root : {0, 13, 95}) {
    std::vector<int32_t> blocks(network.rank_nodes.size());
    blocks[static_cast<size_t>(root)] = 1;
    for (const bool backwards : {false, true}) {
      const auto bound = lower_bound(network, backwards ? Collective::reduce : Collective::broadcast, root);
      ASSERT_TRUE(bound.ok()) << bound.status().message();
      const Judged plan = judged(backwards ? reversed(network) : network, blocks);
      EXPECT_EQ(text(plan.loads.time), text(bound->time));
    }
  }
}

TEST(Cluster, GroupsOfDifferentSizesCostNothing) {
  // In the last one more than half of all hosts are in one group, which has to send more than it receives.
  const std::pair<std::vector<int>, bool> kGroups[] = {
      {{4, 4, 1}, true}, {{1, 4, 4, 2}, true}, {{3, 2, 2, 1, 1}, true}, {{5, 2}, false}};
  for (const auto& [groups, reached] : kGroups) {
    NetworkBuilder builder;
    const int32_t spine = builder.node();
    for (const int hosts : groups) {
      const int32_t leaf = builder.node();
      builder.link(leaf, spine, 100);
      for (int host = 0; host < hosts; ++host) {
        const int32_t first = builder.ranks(2);
        builder.link(first, first + 1, 100);
        for (const int32_t gpu : {first, first + 1}) {
          const int32_t nic = builder.node();
          builder.link(gpu, nic, 20);
          builder.link(nic, leaf, 10);
        }
      }
    }
    const Network network = builder.take();
    const Judged plan = judged(network, one_block_each(network));
    const auto bound = lower_bound(network, Collective::all_gather);
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    EXPECT_GE(plan.loads.time, bound->time);
    EXPECT_EQ(plan.loads.time == bound->time, reached) << groups.size();
  }
}

TEST(Cluster, AMissingRailCostsItsHostAlone) {
  NetworkBuilder builder;
  const int32_t leaves[] = {builder.node(), builder.node()};
  const int32_t spine = builder.node();
  for (const int32_t leaf : leaves) builder.link(leaf, spine, 40);
  for (int host = 0; host < 6; ++host) {
    const int32_t first = builder.ranks(2);
    builder.link(first, first + 1, 100);
    for (int32_t nic = 0; nic < (host == 3 ? 1 : 2); ++nic) {
      const int32_t adapter = builder.node();
      builder.link(first + nic, adapter, 20);
      builder.link(adapter, leaves[nic], 10);
    }
  }
  const Network network = builder.take();
  const Judged plan = judged(network, one_block_each(network));
  EXPECT_EQ(text(plan.loads.time), text(Ratio(10, 12 * 10'000'000)));  // ten of twelve blocks through one NIC
}

/// Plans spelled out go over the same edges, which another judge counts.
TEST(Cluster, WhateverTheClusterPlansHoldAndStandForTrees) {
  for (uint32_t seed = 0; seed < testing::enough(200); ++seed) {
    const Network network = uneven_cluster(seed);
    auto blocks = one_block_each(network);
    if (seed % 5 == 4) {
      blocks.assign(blocks.size(), 0);
      blocks[seed % blocks.size()] = 1;
    }
    const int hosts_in_a_row = static_cast<int>(seed % 3);
    const auto plan = plan_cluster(network, far_switches(network), blocks, hosts_in_a_row);
    ASSERT_TRUE(plan.ok()) << seed << ": " << plan.status().message();
    const auto loads = check_cluster(network, *plan, blocks);
    ASSERT_TRUE(loads.ok()) << seed << ": " << loads.status().message();
    const auto bound = lower_bound(network, seed % 5 == 4 ? Collective::broadcast : Collective::all_gather,
                                   static_cast<Rank>(seed % blocks.size()));
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    EXPECT_GE(loads->time, bound->time) << seed;
    const auto packing = spelled_out(network, *plan, exactly(loads->time));
    ASSERT_TRUE(packing.ok()) << packing.status().message();
    const auto trees = check_packing(network, *packing);
    ASSERT_TRUE(trees.ok()) << seed << ": " << trees.status().message();
    EXPECT_EQ(trees->use, 1) << seed;
    for (size_t e = 0; e < network.edges.size(); ++e)
      ASSERT_EQ(trees->trees[e], static_cast<int64_t>(loads->parts[e])) << seed << ", edge " << e;
  }
}

/// Then the paths between each two leaves have other proportions, which have no small common multiple.
TEST(Cluster, WhereManyCablesAreMissingSharesAreRounded) {
  constexpr int kLeaves = 16;
  constexpr int kSpines = 9;
  std::mt19937 random(7);
  NetworkBuilder builder;
  std::vector<int32_t> spines(kSpines);
  for (int32_t& spine : spines) spine = builder.node();
  for (int group = 0; group < kLeaves; ++group) {
    const int32_t leaf = builder.node();
    for (const int32_t spine : spines) builder.link(leaf, spine, 10 * (6 - static_cast<int>(random() % 5)));
    for (int host = 0; host < 20; ++host) {
      const int32_t rank = builder.ranks(1);
      const int32_t adapter = builder.node();
      builder.link(rank, adapter, 100);
      builder.link(adapter, leaf, 10);
    }
  }
  const Network network = builder.take();
  const auto bound = lower_bound(network, Collective::all_gather);
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  const Judged plan = judged(network, one_block_each(network));
  EXPECT_EQ(text(plan.loads.time), text(bound->time));
}

TEST(Cluster, SharesOfPathsAreRoundedInProportion) {
  Way way{0, 1, {{6, {1}}, {1, {2}}, {0, {}}, {3, {3}}}};
  round_weights(way, 4096);
  ASSERT_EQ(way.paths.size(), 3u);
  const auto weight = [&](size_t path) { return static_cast<double>(way.paths[path].weight); };
  EXPECT_NEAR(weight(0), 4096 * 0.6, 1);
  EXPECT_NEAR(weight(1), 4096 * 0.1, 1);
  EXPECT_NEAR(weight(2), 4096 * 0.3, 1);
  EXPECT_EQ(weight(0) + weight(1) + weight(2), 4096);
  round_weights(way, 4);  // the path with a tenth gets at most one part
  for (const Way::Path& path : way.paths) EXPECT_GT(path.weight, 0);
}

TEST(Cluster, RefusesWhatIsNoClusterOfHosts) {
  const auto refused = [](const Network& network) {
    return plan_cluster(network, far_switches(network), one_block_each(network)).status().message();
  };
  EXPECT_THAT(refused(star(4, 10)), HasSubstr("one host"));
  EXPECT_THAT(refused(part_of(kDgx1v, 8, 25)), HasSubstr("at least two"));
  EXPECT_THAT(refused(leaf_spine({2, 2, 100, 1, 10, 10, 1, 0, false})),
              HasSubstr("no group of connected switches"));
  const Network whole = leaf_spine({2, 2, 100, 1, 10, 10, 2, 0, false});
  EXPECT_THAT(plan_cluster(whole, far_switches(whole), std::vector<int32_t>(4, 0)).status().message(),
              HasSubstr("no rank has a block"));
}

}  // namespace
}  // namespace weir::algorithms
