// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/algorithms/sim_networks.h"
#include "tests/algorithms/some_layout.h"

namespace weir::sim {
namespace {

using algorithms::plan_of;

Prediction run(const std::vector<Round>& rounds, double bytes, const Network& network,
               const Channels& channels = {}) {
  FlowRoutes routes(network);
  auto prediction = simulate(rounds, bytes, network, routes, channels);
  EXPECT_TRUE(prediction.ok()) << prediction.status().message();
  return prediction.ok() ? *prediction : Prediction{};
}

/// Hosts in this order, their GPUs one after the other.
std::vector<Rank> ring_over(const std::vector<int>& hosts, int gpus) {
  std::vector<Rank> order;
  for (const int host : hosts) {
    for (int gpu = 0; gpu < gpus; ++gpu) order.push_back(host * gpus + gpu);
  }
  return order;
}

std::vector<int> in_order(int hosts) {
  std::vector<int> order(static_cast<size_t>(hosts));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

TEST(Rounds, ARingHasOne) {
  const auto rounds = rounds_of(plan_of("ring", Collective::all_reduce, 8), 800);
  ASSERT_EQ(rounds.size(), 1u);
  EXPECT_EQ(rounds[0].times, 14);
  ASSERT_EQ(rounds[0].transfers.size(), 8u);
  EXPECT_EQ(rounds[0].transfers[3], (RoundTransfer{3, 4, 100, 0}));
  const std::vector<Rank> order{0, 1, 2, 3, 4, 5, 6, 7};
  const auto family = ring_rounds(Collective::all_reduce, {&order, 1}, 800);
  EXPECT_EQ(family[0].transfers, rounds[0].transfers);
  EXPECT_EQ(family[0].times, rounds[0].times);
  for (const auto kind : {Collective::all_gather, Collective::reduce_scatter}) {
    EXPECT_EQ(ring_rounds(kind, {&order, 1}, 800)[0].times, 7);
    EXPECT_EQ(rounds_of(plan_of("ring", kind, 8), 800)[0].times, 7);
  }
}

TEST(Rounds, HalvesAndDoubles) {
  const auto rounds = rounds_of(plan_of("halving_doubling", Collective::all_reduce, 8), 800);
  std::vector<double> bytes;
  for (const Round& round : rounds) {
    EXPECT_EQ(round.transfers.size(), 8u);
    for (int64_t i = 0; i < round.times; ++i) bytes.push_back(round.transfers[0].bytes);
  }
  EXPECT_THAT(bytes, ::testing::ElementsAre(400, 200, 100, 100, 200, 400));
}

/// Move by move and round by round are the same where all links are.
TEST(Rounds, AgreeWithThePlan) {
  const Network network = star(8, 300);
  const Channels channels{.hop_latency = 1e-6, .alpha = 2e-6};
  for (const auto* algorithm : {"ring", "halving_doubling"}) {
    const auto plan = plan_of(algorithm, Collective::all_reduce, 8);
    const auto moves = simulate(plan, 1e8, network, channels);
    ASSERT_TRUE(moves.ok());
    const auto rounds = run(rounds_of(plan, 1e8), 1e8, network, channels);
    EXPECT_NEAR(rounds.seconds, moves->seconds, 1e-9 * moves->seconds) << algorithm;
    EXPECT_NEAR(rounds.algbw, moves->algbw, 1e-9 * moves->algbw) << algorithm;
    for (size_t e = 0; e < network.edges.size(); ++e) {
      EXPECT_NEAR(rounds.edge_bytes[e], moves->edge_bytes[e], 1e-3);
    }
  }
}

/// Where links differ, ranks run ahead of each other, but the fullest link still sets the pace.
TEST(Rounds, AgreeOnUnevenLinks) {
  Network slow = star(16, 100);
  slow.edges[6].capacity = units(40);
  const LeafSpine shape{.hosts = 16, .gpus = 1, .hosts_per_leaf = 4, .uplink = 25};
  Network scattered = leaf_spine(shape);
  std::mt19937 random(3);
  for (size_t i = 15; i > 0; --i)
    std::swap(scattered.rank_nodes[i], scattered.rank_nodes[random() % (i + 1)]);
  const auto plan = plan_of("ring", Collective::all_reduce, 16);
  for (const Network& network : {slow, scattered}) {
    const auto moves = simulate(plan, 1e9, network, {});
    ASSERT_TRUE(moves.ok());
    const auto rounds = run(rounds_of(plan, 1e9), 1e9, network);
    EXPECT_NEAR(moves->seconds, rounds.seconds, 0.05 * rounds.seconds);
  }
}

/// 160 hosts of 8 GPUs with an adapter of 25 GB/s, 20 hosts below a leaf, uplinks of a quarter of that.
class FourToOne : public ::testing::Test {
 protected:
  static constexpr double kBytes = 1e9;
  const LeafSpine shape_{.hosts = 160, .adapters = 1, .hosts_per_leaf = 20, .uplink = 125};
  const Network network_ = leaf_spine(shape_);

  double seconds(const std::vector<int>& hosts) const {
    const auto order = ring_over(hosts, shape_.gpus);
    return run(ring_rounds(Collective::all_reduce, {&order, 1}, kBytes), kBytes, network_).seconds;
  }
  /// The most neighbours in the ring that one leaf has above it, leaving or coming in.
  int crossings(const std::vector<int>& hosts) const {
    std::vector<int> out(static_cast<size_t>(shape_.leaves()));
    for (size_t i = 0; i < hosts.size(); ++i) {
      const int here = hosts[i] / shape_.hosts_per_leaf;
      if (hosts[(i + 1) % hosts.size()] / shape_.hosts_per_leaf != here) ++out[static_cast<size_t>(here)];
    }
    return *std::max_element(out.begin(), out.end());
  }
};

TEST_F(FourToOne, SortedByLeafIsFree) {
  const double steps = 2 * (1280 - 1);
  EXPECT_NEAR(seconds(in_order(160)), steps * kBytes / 1280 / 25e9, 1e-9);
}

TEST_F(FourToOne, EveryHostOnAnotherLeafCostsFour) {
  std::vector<int> strided;
  for (int i = 0; i < 160; ++i) strided.push_back(i % 8 * 20 + i / 8);
  EXPECT_EQ(crossings(strided), 20);
  EXPECT_NEAR(seconds(strided) / seconds(in_order(160)), 4.0, 1e-9);
}

/// The fullest uplink decides; with all neighbours on other leaves that is the 4.0 of theory.
TEST_F(FourToOne, RandomOrder) {
  const double sorted = seconds(in_order(160));
  double sum = 0;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    std::vector<int> hosts = in_order(160);
    std::mt19937 random(seed);
    for (size_t i = hosts.size() - 1; i > 0; --i) std::swap(hosts[i], hosts[random() % (i + 1)]);
    const double slowdown = seconds(hosts) / sorted;
    EXPECT_NEAR(slowdown, crossings(hosts) * 25 / 125.0, 1e-9);
    sum += slowdown / 10;
  }
  EXPECT_GT(sum, 3.5);
  EXPECT_LE(sum, 4.0);
}

TEST(Rounds, TwoRingsUseBothAdapters) {
  const LeafSpine shape{.hosts = 150, .adapters = 2, .hosts_per_leaf = 10, .uplink = 500};
  const Network network = leaf_spine(shape);
  std::vector<std::vector<Rank>> orders;
  for (const int first : {0, 4}) {
    std::vector<Rank>& order = orders.emplace_back();
    for (int host = 0; host < shape.hosts; ++host) {
      for (int gpu = 0; gpu < 8; ++gpu) order.push_back(host * 8 + (first + gpu) % 8);
    }
  }
  const auto got = run(ring_rounds(Collective::all_gather, orders, 1e9), 1e9, network);
  EXPECT_NEAR(got.algbw, 50.0 * 1200 / 1199, 1e-6);
}

TEST(Rounds, Refused) {
  const Network network = star(3, 10);
  FlowRoutes routes(network);
  const auto said = [&](const Round& round) {
    return simulate({&round, 1}, 1, network, routes, {}).status().message();
  };
  EXPECT_EQ(said({{{0, 3, 1}}, 1}), "no route from rank 0 to rank 3: expected ranks 0 to 2");
  EXPECT_EQ(said({{{0, 1, 1}}, -2}), "a round that is repeated -2 times: expected 0 or more");
  EXPECT_EQ(said({{{0, 1, -1}}, 1}), "flow 0 has bytes -1: expected 0 or more");
}

}  // namespace
}  // namespace weir::sim
