// Plans for many hosts: as good as the bound on clusters that people have, and honest elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/bound/bound.h"
#include "algorithms/cluster/cluster_planner.h"
#include "algorithms/packing/trees.h"
#include "algorithms/proof/cluster_proof.h"
#include "tests/algorithms/cluster_networks.h"
#include "tests/algorithms/ground_truth.h"

namespace weir::algorithms {
namespace {

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

/// A cluster with one of the oversubscriptions up to which an all-gather does not feel them.
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
  add("KT 40", {40, 8, 0, 2, 25, 50, 20, 0, false}, {1, 2, 4, 8, 39});
  add("KT 300", {300, 8, 0, 2, 25, 50, 20, 0, false}, {1, 2, 4, 8, 21});
  add("SuperPOD 40", {40, 8, 300, 8, 25, 25, 20, 0, true}, {1, 2, 4, 39});
  add("SuperPOD 140", {140, 8, 300, 8, 25, 25, 20, 0, true}, {1, 2, 4, 23});
  add("Vela 200", {200, 8, 300, 2, 12.5, 32, 5, 0, false}, {1, 2, 4, 5});
  add("Vela 200, usable", {200, 8, 300, 1, 15, 60, 5, 0, false}, {1, 1.25, 2, 4});
  add("NSML 16", {16, 8, 300, 4, 25, 50, 8, 0, false}, {1, 2, 15});
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
    const Network network = leaf_spine(spine.network);
    const auto words = spine.name + ", uplinks of " + std::to_string(spine.network.uplink);
    const Judged plan = judged(network, one_block_each(network));
    const auto bound = lower_bound(network, Collective::all_gather);
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    EXPECT_EQ(text(plan.loads.time), text(bound->time)) << words;
    const int groups = spine.network.nodes / spine.network.nodes_per_leaf;
    for (const bool upwards : {false, true}) {
      const auto shares = spine_shares(network, plan.loads, spine.network, upwards);
      ASSERT_EQ(shares.size(), static_cast<size_t>(groups)) << words;
      for (const Ratio& share : shares) EXPECT_EQ(text(share), text(Ratio(groups - 1, groups))) << words;
    }
  }
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

}  // namespace
}  // namespace weir::algorithms
