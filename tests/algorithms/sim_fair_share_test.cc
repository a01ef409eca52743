// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/fair_share.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/algorithms/sim_networks.h"
#include "tests/algorithms/sim_slow.h"

namespace weir::sim {
namespace {

TEST(FairShare, ThreeFlowsOverTwoLinks) {
  // 0-1 carries the long flow and one other, 1-2 the long flow and two others: 2, 2, 2 and 10 - 2 = 8.
  const Network network = row({10, 6});
  const std::vector<int32_t> both{0, 2}, first{0}, second{2};
  FairShares shares(network, {{both, 6e6}, {first, 10e6}, {second, 6e6}});
  shares.change(0, 1);
  shares.change(1, 1);
  shares.change(2, 2);
  EXPECT_EQ(shares.settle().size(), 3u);
  EXPECT_DOUBLE_EQ(shares.rate(0), 2e6);
  EXPECT_DOUBLE_EQ(shares.rate(1), 8e6);
  EXPECT_DOUBLE_EQ(shares.rate(2), 2e6);
}

TEST(FairShare, WhatACeilingLeavesGoesToTheOthers) {
  const Network network = row({10});
  const std::vector<int32_t> path{0};
  FairShares shares(network, {{path, 1e6}, {path, 10e6}});
  shares.change(0, 2);
  shares.change(1, 2);
  shares.settle();
  EXPECT_DOUBLE_EQ(shares.rate(0), 1e6);
  EXPECT_DOUBLE_EQ(shares.rate(1), 4e6);
}

TEST(FairShare, AChangeIsLocal) {
  const Network network = star(8, 10);
  const std::vector<int32_t> a{0, 3}, b{4, 3}, c{8, 11};
  FairShares shares(network, {{a, 10e6}, {b, 10e6}, {c, 10e6}});
  shares.change(0, 1);
  shares.change(2, 1);
  EXPECT_EQ(shares.settle().size(), 2u);
  shares.change(1, 1);
  EXPECT_EQ(shares.settle().size(), 2u);  // c goes on as it was
  EXPECT_DOUBLE_EQ(shares.rate(0), 5e6);
  shares.change(1, -1);
  shares.settle();
  EXPECT_DOUBLE_EQ(shares.rate(0), 10e6);
  EXPECT_DOUBLE_EQ(shares.rate(1), 0);
  EXPECT_TRUE(shares.settle().empty());
}

TEST(FairShare, AFlowThatFollowsAnotherAtOnceChangesNothing) {
  const Network network = star(8, 10);
  const std::vector<int32_t> a{0, 3}, b{4, 3};
  FairShares shares(network, {{a, 10e6}, {b, 10e6}});
  shares.change(0, 1);
  shares.change(1, 1);
  shares.settle();
  shares.change(0, -1);
  shares.change(0, 1);
  EXPECT_TRUE(shares.settle().empty());
  EXPECT_DOUBLE_EQ(shares.rate(0), 5e6);
  shares.change(0, -1);
  shares.change(0, 1);
  shares.change(1, -1);
  EXPECT_EQ(shares.settle().size(), 2u);
  EXPECT_DOUBLE_EQ(shares.rate(0), 10e6);
}

/// Groups that come and go on random paths through a random graph: after every change all rates are those of
/// the slow way.
TEST(FairShare, RandomNetworksAgainstTheDefinition) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    const auto any = [&](size_t below) { return random() % below; };
    Network network;
    network.nodes = 6;
    for (int32_t from = 0; from < network.nodes; ++from) {
      for (int32_t to = 0; to < network.nodes; ++to) {
        if (from != to) network.edges.push_back({from, to, static_cast<int64_t>(1 + any(20)) * 100, -1});
      }
    }
    std::vector<SlowFlow> kinds;
    for (int k = 0; k < 12; ++k) {
      SlowFlow kind;
      for (const auto& edge : network.edges) {
        if (any(7) == 0) kind.path.push_back(static_cast<int32_t>(&edge - network.edges.data()));
      }
      if (kind.path.empty()) kind.path.push_back(static_cast<int32_t>(any(network.edges.size())));
      int64_t narrowest = INT64_MAX;
      for (const int32_t e : kind.path) {
        narrowest = std::min(narrowest, network.edges[static_cast<size_t>(e)].capacity);
      }
      kind.ceiling = static_cast<double>(narrowest) * (any(3) == 0 ? 0.3 : 1);
      kinds.push_back(kind);
    }
    std::vector<FlowGroup> groups;
    for (const SlowFlow& kind : kinds) groups.push_back({kind.path, kind.ceiling});
    FairShares shares(network, groups);
    for (int round = 0; round < 30; ++round) {
      for (size_t times = 1 + any(3); times > 0; --times) {
        const auto group = static_cast<GroupId>(any(kinds.size()));
        const bool fewer = shares.flows(group) > 0 && any(2) == 0;
        shares.change(group, fewer ? -static_cast<int32_t>(1 + any(static_cast<size_t>(shares.flows(group))))
                                   : static_cast<int32_t>(1 + any(3)));
      }
      shares.settle();
      std::vector<SlowFlow> flows;
      std::vector<GroupId> owner;
      for (size_t k = 0; k < kinds.size(); ++k) {
        for (int32_t f = 0; f < shares.flows(static_cast<GroupId>(k)); ++f) {
          flows.push_back(kinds[k]);
          owner.push_back(static_cast<GroupId>(k));
        }
      }
      const std::vector<double> rates = fill_slowly(network, flows);
      for (size_t f = 0; f < flows.size(); ++f) {
        ASSERT_NEAR(shares.rate(owner[f]), rates[f], 1e-6 * rates[f])
            << "seed " << seed << ", round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace weir::sim
