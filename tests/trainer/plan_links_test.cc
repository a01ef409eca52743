// SPDX-License-Identifier: Apache-2.0
// Times of collectives on topologies of the library, against the closed forms of rings.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "plan_machine.h"
#include "trainer/plan/wire.h"

namespace weir::trainer::plan {
namespace {

using ::testing::HasSubstr;

constexpr double kUnitBytes = 24e9;
constexpr double kLinkRounding = 1e-6;

Cluster cluster(int nodes) { return on({nodes, 8, 100, 4, 10, 1000}); }

Groups groups(Strategy strategy, const Cluster& cluster, int shard = 0) {
  return *groups_of(strategy, cluster, shard);
}

TEST(PlanLinks, AFlatRingLoadsEachNodeOnce) {
  const Cluster four = cluster(4);
  const Transfer gather = *gather_time(four, groups(Strategy::full_shard, four), kUnitBytes);
  EXPECT_EQ(gather.inside, 0);
  EXPECT_NEAR(gather.between, kUnitBytes * 31 / 32 / 4e9 + 31 * 1e-3, kLinkRounding);
  const Transfer reduce = *reduce_time(four, groups(Strategy::full_shard, four), kUnitBytes);
  EXPECT_EQ(reduce.between, gather.between);
}

TEST(PlanLinks, OneNodeUsesItsOwnLinksOnly) {
  const Cluster one = cluster(1);
  const Transfer gather = *gather_time(one, groups(Strategy::full_shard, one), kUnitBytes);
  EXPECT_EQ(gather.between, 0);
  EXPECT_NEAR(gather.inside, kUnitBytes * 7 / 8 / 100e9 + 7 * 1e-5, kLinkRounding);
}

TEST(PlanLinks, HybridGathersInsideAndReducesShardsBetween) {
  const Cluster four = cluster(4);
  const Groups hybrid = groups(Strategy::hybrid_shard, four, 8);
  const Transfer gather = *gather_time(four, hybrid, kUnitBytes);
  EXPECT_EQ(gather.between, 0);
  EXPECT_NEAR(gather.inside, kUnitBytes * 7 / 8 / 100e9 + 7 * 1e-5, kLinkRounding);
  const Transfer reduce = *reduce_time(four, hybrid, kUnitBytes);
  EXPECT_NEAR(reduce.between, 2 * kUnitBytes * 3 / 4 / 4e9 + 2 * 3 * 1e-3, kLinkRounding);
}

TEST(PlanLinks, GroupsOfNodesShareTheNics) {
  const Cluster four = cluster(4);
  const Transfer reduce = *reduce_time(four, groups(Strategy::hybrid_shard, four, 16), kUnitBytes);
  // A reduce-scatter over two nodes; of each half of the unit two replicas, so a half per node twice half.
  EXPECT_NEAR(reduce.between,
              kUnitBytes * 15 / 16 / 4e9 + 15 * 1e-3 + 2 * (kUnitBytes / 2) / 2 / 4e9 + 2 * 1e-3,
              kLinkRounding);
}

TEST(PlanLinks, HpzGathersFromAllOnceAndThenInside) {
  const Cluster four = cluster(4);
  const Groups hpz = groups(Strategy::hpz, four, 8);
  const Groups full = groups(Strategy::full_shard, four);
  EXPECT_EQ(gather_time(four, hpz, kUnitBytes)->between, gather_time(four, full, kUnitBytes)->between);
  EXPECT_EQ(reduce_time(four, hpz, kUnitBytes)->between, reduce_time(four, full, kUnitBytes)->between);
  const Transfer again = *gather_again_time(four, hpz, kUnitBytes);
  EXPECT_EQ(again.between, 0);
  EXPECT_NEAR(again.inside, kUnitBytes * 7 / 8 / 100e9 + 7 * 1e-5, kLinkRounding);
}

TEST(PlanLinks, NoShardReducesEverythingTwiceAround) {
  const Cluster four = cluster(4);
  const Groups none = groups(Strategy::no_shard, four);
  EXPECT_EQ(gather_time(four, none, kUnitBytes)->between, 0);
  EXPECT_NEAR(reduce_time(four, none, kUnitBytes)->between, 2 * (kUnitBytes * 31 / 32 / 4e9 + 31 * 1e-3),
              kLinkRounding);
}

TEST(PlanLinks, SomeOfTheNodesAreTheFirstOnes) {
  Cluster two = cluster(4);
  two.nodes = 2;
  EXPECT_NEAR(gather_time(two, groups(Strategy::full_shard, two), kUnitBytes)->between,
              kUnitBytes * 15 / 16 / 4e9 + 15 * 1e-3, kLinkRounding);
  two.nodes = 5;
  EXPECT_THAT(gather_time(two, groups(Strategy::full_shard, two), kUnitBytes).status().message(),
              HasSubstr("5 nodes; the topology has 4"));
}

TEST(PlanLinks, OneRankHasNothingToDo) {
  const Cluster one = on({1, 1});
  const Groups all = groups(Strategy::full_shard, one);
  EXPECT_EQ(gather_time(one, all, kUnitBytes)->inside, 0);
  EXPECT_EQ(reduce_time(one, all, kUnitBytes)->inside, 0);
}

TEST(PlanLinks, TakesAtLeastTheBound) {
  const Cluster four = cluster(4);
  const auto bound = four.links->bound(Collective::all_gather, 32);
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  const double least = bound->seconds(kUnitBytes);
  EXPECT_NEAR(least, kUnitBytes * 3 / 4 / 4e9, kLinkRounding);
  EXPECT_GT(gather_time(four, groups(Strategy::full_shard, four), kUnitBytes)->between, least);
}

TEST(PlanLinks, ReadsFabricFilesOfHosts) {
  const auto path = std::filesystem::temp_directory_path() / "weir_plan_links_fabric.txt";
  std::ofstream(path) << "weir fabric 1\nleaf leaf[0-1]\nspine spine0\nhost node[0-3]\n"
                         "attach node[0-1] to leaf0 10G\nattach node[2-3] to leaf1 10G\n"
                         "cable leaf[0-1] to spine0 10G\n";
  const auto links = Links::read({path.string()}, "0");
  std::filesystem::remove(path);
  ASSERT_TRUE(links.ok()) << links.status().message();
  EXPECT_EQ((*links)->hosts(), 4);
  EXPECT_EQ((*links)->ranks_per_host(), 1);
  // A ring crosses each leaf's border once per direction.
  EXPECT_NEAR(*(*links)->seconds(Collective::all_gather, 4, {4, 1}, 1e9), 3.0 / 4 / 1.25, kLinkRounding);
  // Pairs of hosts on different leaves share the uplinks.
  EXPECT_NEAR(*(*links)->seconds(Collective::all_gather, 4, {2, 2}, 1e9), 2 * 1.0 / 2 / 1.25, kLinkRounding);
  EXPECT_NEAR(*(*links)->seconds(Collective::all_gather, 4, {2, 1}, 1e9), 1.0 / 2 / 1.25, kLinkRounding);
}

TEST(PlanLinks, RefusesTopologiesThatItCannotPlanFor) {
  const auto refused = [](const std::string& source, const std::string& latencies = "") {
    const auto links = Links::read({source}, latencies);
    if (!links.ok()) return links.status().message();
    return (*links)->seconds(Collective::all_gather, (*links)->hosts(), {2, 1}, 1).status().message();
  };
  EXPECT_THAT(refused("/nowhere"), HasSubstr("/nowhere"));
  EXPECT_THAT(refused("1 x (8 gpu nvswitch 100, 1 nic 4) + 1 x (4 gpu nvswitch 100, 1 nic 4) leaf"),
              HasSubstr("host0 has 8 devices and host1 has 4; expected equal numbers"));
  EXPECT_THAT(refused("(2 gpu nvswitch 100)", "warp=9"), HasSubstr("\"warp\" has no latency"));
}

TEST(PlanLinks, RefusesGroupsThatDoNotDivide) {
  const Cluster four = cluster(4);
  for (const int shard : {0, 3, 12, 24}) {
    const auto result = groups_of(Strategy::hybrid_shard, four, shard);
    ASSERT_FALSE(result.ok()) << shard;
    EXPECT_THAT(result.status().message(), HasSubstr("does not divide 4 nodes of 8 GPUs"));
  }
}

}  // namespace
}  // namespace weir::trainer::plan
