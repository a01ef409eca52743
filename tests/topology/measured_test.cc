// SPDX-License-Identifier: Apache-2.0
// Leaves from measurements: pairings, clustering, and pretended networks with noise.
#include "topology/model/measured.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/base/sanitized.h"
#include "tests/topology/pretend_network.h"
#include "topology/model/check.h"
#include "topology/model/derive.h"
#include "topology/model/linkage.h"
#include "topology/model/tournament.h"

namespace weir::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;
using From = MeasuredLeaves::From;
using testing::PretendNetwork;

TEST(Tournament, PairsAllOnceInTheFewestRounds) {
  for (int players = 1; players <= 33; ++players) {
    for (const int repetition : {0, 1, 7}) {
      const Tournament tournament(players, repetition);
      EXPECT_EQ(tournament.rounds(), players == 1 ? 0 : players - 1 + players % 2);
      std::set<std::pair<int, int>> met;
      for (int round = 0; round < tournament.rounds(); ++round) {
        int resting = 0;
        for (int player = 0; player < players; ++player) {
          const int partner = tournament.partner(round, player);
          if (partner < 0) {
            ++resting;
            continue;
          }
          ASSERT_NE(partner, player);
          ASSERT_EQ(tournament.partner(round, partner), player);
          EXPECT_TRUE(met.emplace(player, partner).second) << player << " meets " << partner << " twice";
        }
        EXPECT_EQ(resting, players % 2);
      }
      EXPECT_EQ(met.size(), static_cast<size_t>(players * (players - 1)));
    }
  }
}

TEST(Tournament, RepetitionsDifferInWhoIsAtWorkTogether) {
  const Tournament first(8, 1), second(8, 2);
  const auto others_of_first_pair = [](const Tournament& tournament) {
    for (int round = 0;; ++round)
      if (tournament.partner(round, 0) == 1) return tournament.partner(round, 2);
  };
  EXPECT_NE(others_of_first_pair(first), others_of_first_pair(second));
}

TEST(Linkage, FindsGroupsAndSaysHowWellTheyFit) {
  Distances distances(5);
  for (size_t a = 0; a < 5; ++a)
    for (size_t b = 0; b < 5; ++b) distances.at(a, b) = a == b ? 0 : a % 2 == b % 2 ? 0.1 : 1;
  const Grouping grouping = best_grouping(distances, 0);
  EXPECT_THAT(grouping, ElementsAre(0, 1, 0, 1, 0));
  EXPECT_NEAR(silhouette(distances, grouping, 0), 0.9, 1e-9);
  EXPECT_NEAR(silhouette(distances, grouping, 0.5), 0.6, 1e-9);
  EXPECT_LT(silhouette(distances, {0, 0, 1, 1, 1}, 0), 0.1);
  EXPECT_EQ(silhouette(distances, {0, 0, 0, 0, 0}, 0), 0);
  EXPECT_EQ(groups_in(best_grouping(Distances(4), 0.1)), 1) << "all at one place";
}

/// "0 0 1 1": by host, the leaf it was found on, numbered in the order of first hosts.
std::vector<int> places(const MeasuredLeaves& found, size_t hosts) {
  std::vector<int> place(hosts, -1);
  for (size_t leaf = 0; leaf < found.leaves.size(); ++leaf)
    for (const size_t host : found.leaves[leaf].hosts) place[host] = static_cast<int>(leaf);
  return place;
}

/// The network's own, numbered alike.
std::vector<int> truth(const PretendNetwork& network) {
  std::vector<int> numbers(network.leaf_of.size(), -1);
  std::vector<int> result;
  int next = 0;
  for (const int leaf : network.leaf_of) {
    int& number = numbers[static_cast<size_t>(leaf)];
    if (number < 0) number = next++;
    result.push_back(number);
  }
  return result;
}

MeasuredLeaves find(const PretendNetwork& network) {
  return find_leaves(network.measure(usual_repetitions(network.leaf_of.size())));
}

TEST(Measured, FindsLeavesBehindOversubscribedUplinks) {
  const std::vector<std::vector<int>> all = {{2, 2},    {3, 3},       {2, 2, 2},       {3, 2, 3},
                                             {8, 8, 8}, {8, 4, 2, 6}, {16, 16, 16, 16}};
  for (const std::vector<int>& sizes : all) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      PretendNetwork network = PretendNetwork::of(sizes, 4);
      network.noise = 0.05;
      network.seed = seed;
      network.shuffle();
      const MeasuredLeaves found = find(network);
      EXPECT_EQ(found.from, From::bandwidth);
      EXPECT_EQ(places(found, network.leaf_of.size()), truth(network))
          << sizes.size() << " leaves, seed " << seed;
      EXPECT_GT(found.confidence, 0.5);
      EXPECT_THAT(found.slow, IsEmpty());
    }
  }
}

TEST(Measured, SaysWhatUplinksCarry) {
  const PretendNetwork network = PretendNetwork::of({8, 8, 8, 8}, 2);
  const MeasuredLeaves found = find(network);
  ASSERT_THAT(found.leaves, SizeIs(4));
  for (const MeasuredLeaf& leaf : found.leaves) {
    EXPECT_NEAR(leaf.down_gb_per_s, 80, 4);
    EXPECT_NEAR(leaf.up_gb_per_s, 40, 4);
  }
  EXPECT_NEAR(found.inside_gb_per_s, 10, 0.5);
  EXPECT_NEAR(found.across_gb_per_s, 6, 1.5);
}

TEST(Measured, NoiseGivesNoLeaves) {
  for (const double noise : {0.02, 0.1, 0.3, 0.6}) {
    for (const int hosts : {1, 2, 3, 4, 5, 6, 8, 16, 40}) {
      for (uint64_t seed = 1; seed <= weir::testing::enough(20); ++seed) {
        PretendNetwork network = PretendNetwork::of({hosts}, 1);
        network.noise = noise;
        network.seed = seed;
        const MeasuredLeaves found = find(network);
        ASSERT_EQ(found.from, From::nothing) << hosts << " hosts, noise " << noise << ", seed " << seed;
        ASSERT_THAT(found.leaves, SizeIs(1));
        EXPECT_THAT(found.leaves[0].hosts, SizeIs(hosts));
      }
    }
  }
}

TEST(Measured, AFewDisturbedRepetitionsGiveNoLeaves) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    PretendNetwork network = PretendNetwork::of({4}, 1);
    network.noise = 0.6;
    network.seed = seed;
    EXPECT_EQ(find_leaves(network.measure(3)).from, From::nothing) << seed;
    EXPECT_EQ(find_leaves(network.measure(2)).confidence, 0) << "two say nothing";
  }
}

TEST(Measured, PairsThatDifferForEverAreNoLeaves) {
  for (const int hosts : {4, 6, 8, 24}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      PretendNetwork network = PretendNetwork::of({hosts}, 1);
      network.lasting_noise = 0.1;
      network.seed = seed;
      EXPECT_EQ(find(network).from, From::nothing) << hosts << " hosts, seed " << seed;
    }
  }
}

TEST(Measured, NothingIsToldWhereNothingIsOversubscribed) {
  const MeasuredLeaves found = find(PretendNetwork::of({6, 6}, 0));
  EXPECT_EQ(found.from, From::nothing);
  EXPECT_LT(found.confidence, 0.2);
}

TEST(Measured, LatencyTellsWhereBandwidthDoesNot) {
  PretendNetwork network = PretendNetwork::of({4, 4, 4}, 0);
  network.across_us = 3;
  network.shuffle();
  const MeasuredLeaves found = find(network);
  EXPECT_EQ(found.from, From::latency);
  EXPECT_EQ(places(found, 12), truth(network));
  EXPECT_NEAR(found.inside_us, 2, 0.1);
  EXPECT_NEAR(found.across_us, 3, 0.1);
  network.oversubscription = 4;
  EXPECT_EQ(find(network).from, From::both);
}

TEST(Measured, OfThreeLevelsTheLowestAreLeaves) {
  PretendNetwork network = PretendNetwork::of({4, 4, 4, 4}, 0);
  network.pod_of = {0, 0, 1, 1};
  network.inside_us = 2;
  network.across_us = 3;
  network.other_pod_us = 4;
  network.shuffle();
  EXPECT_EQ(places(find(network), 16), truth(network));
}

TEST(Measured, ASlowHostIsNoLeafOfItsOwn) {
  for (const double speed : {2.5, 5.0}) {
    PretendNetwork network = PretendNetwork::of({8}, 1);
    network.nic[3] = speed;
    const MeasuredLeaves alone = find(network);
    EXPECT_EQ(alone.from, From::nothing);
    EXPECT_THAT(alone.slow, ElementsAre(3));
    EXPECT_NEAR(alone.gb_per_s[3], speed, 0.3);

    network = PretendNetwork::of({4, 4, 4}, 2);
    network.nic[0] = speed;
    MeasuredLeaves among = find(network);
    EXPECT_THAT(among.slow, ElementsAre(0));
    ASSERT_THAT(among.leaves, SizeIs(3));
    std::vector<std::vector<size_t>> others;
    for (MeasuredLeaf& leaf : among.leaves) {
      std::erase(leaf.hosts, 0u);  // wherever it was put
      others.push_back(leaf.hosts);
    }
    EXPECT_THAT(others, UnorderedElementsAre(ElementsAre(1, 2, 3), ElementsAre(4, 5, 6, 7),
                                             ElementsAre(8, 9, 10, 11)));
  }
}

TEST(Measured, SlowHostsWhoseLeafCannotBeToldAreNamed) {
  PretendNetwork network = PretendNetwork::of({4, 4, 4}, 2);
  network.nic[0] = 2.5;  // too slow to feel the uplinks
  EXPECT_THAT(find(network).unplaced, ElementsAre(0));
}

TEST(Measured, AHostAloneOnItsLeafIsFound) {
  PretendNetwork network = PretendNetwork::of({1, 6, 6, 6}, 4);
  network.noise = 0.01;
  const MeasuredLeaves found = find_leaves(network.measure(10));
  EXPECT_EQ(places(found, 19), truth(network));
  EXPECT_THAT(found.slow, IsEmpty());
}

TEST(Measured, FewHostsTellNothing) {
  for (const std::vector<int>& sizes : {std::vector<int>{1}, {1, 1}, {2, 1}}) {
    const PretendNetwork network = PretendNetwork::of(sizes, 4);
    const MeasuredLeaves found = find(network);
    EXPECT_EQ(found.from, From::nothing);
    EXPECT_THAT(found.leaves, SizeIs(1));
    EXPECT_TRUE(check(graph_of(network.measure(2), found)).ok());
  }
}

TEST(Measured, ManyHosts) {
  PretendNetwork network = PretendNetwork::of(std::vector<int>(16, 16), 4);
  network.shuffle();
  EXPECT_EQ(places(find(network), 256), truth(network));
}

TEST(Measured, BecomesAGraph) {
  PretendNetwork network = PretendNetwork::of({4, 4}, 4);
  network.nic[7] = 5;
  const Measured measured = network.measure(8);
  const Graph graph = graph_of(measured, find_leaves(measured));
  EXPECT_TRUE(check(graph).ok()) << check(graph).message();
  const std::vector<Leaf> all = leaves(graph);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(all[0].hosts, SizeIs(4));
  EXPECT_NEAR(all[0].down_gb_per_s, 40, 1);
  EXPECT_NEAR(all[1].down_gb_per_s, 35, 1);
  EXPECT_NEAR(all[0].up_gb_per_s, 10, 1);
  EXPECT_EQ(graph.all(NodeKind::fabric_switch).size(), 3u);
  const std::vector<Leaf> one =
      leaves(graph_of(measured, find_leaves(PretendNetwork::of({8}, 1).measure(8))));
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_EQ(one[0].up_gb_per_s, 0);
}

}  // namespace
}  // namespace weir::topology
