// SPDX-License-Identifier: Apache-2.0

#include "src/core/planning/pace.h"

#include <gtest/gtest.h>

#include <numeric>

#include "algorithms/catalogue/catalogue.h"
#include "algorithms/ir/relabel.h"
#include "src/exec/lower.h"

namespace weir::core {
namespace {

const cost::Rates kRates{.inside = {1e-6, 1e-6, 1e-10}, .between = {1e-5, 1e-6, 1e-8}, .gamma = 1e-10};

std::vector<double> paces(const std::string& algorithm, Collective kind, Rank self,
                          const std::vector<Rank>& order, const cost::Environment& around,
                          std::vector<exec::Channel>* channels) {
  const int ranks = static_cast<int>(order.size());
  const auto ordered = algorithms::emit(algorithm, {kind, ranks, 0, 1});
  EXPECT_TRUE(ordered.ok());
  const auto plan = ir::relabelled(*ordered, order);
  EXPECT_TRUE(plan.ok());
  const auto program = exec::lower(*plan, self);
  EXPECT_TRUE(program.ok());
  *channels = program->channels;
  return paces_of(*plan, *program, 0.5, order, around);
}

TEST(Pace, OfARingIsAShareOfTheNetworkAndOnlyBetweenHosts) {
  const std::vector<Rank> order = {2, 0, 3, 1};  // hosts {2, 0} and {3, 1}
  const cost::Environment around = cost::regular(4, 2, 8, kRates);
  for (const Rank self : order) {
    std::vector<exec::Channel> channels;
    const auto by_channel = paces("ring", Collective::all_gather, self, order, around, &channels);
    ASSERT_EQ(by_channel.size(), channels.size());
    for (size_t i = 0; i < channels.size(); ++i) {
      const bool crosses = self == 0 || self == 1;
      EXPECT_DOUBLE_EQ(by_channel[i], channels[i].outgoing && crosses ? 0.5e8 : 0)
          << self << " channel " << i;
    }
  }
}

TEST(Pace, OfAnAllToAllIsAPartForEachAndLessBehindANarrowLeaf) {
  std::vector<Rank> order(4);
  std::iota(order.begin(), order.end(), 0);
  cost::Environment around = cost::regular(4, 1, 8, kRates);
  std::vector<exec::Channel> channels;
  for (const double pace : paces("pairwise", Collective::all_to_all, 1, order, around, &channels))
    EXPECT_TRUE(pace == 0 || std::abs(pace - 0.5e8 / 3) < 1) << pace;
  around.borders.push_back({{0, 0, 1, 1}, 4e-8});  // four pairs of ranks pass a quarter of the rate
  const auto narrow = paces("pairwise", Collective::all_to_all, 1, order, around, &channels);
  for (size_t i = 0; i < channels.size(); ++i) {
    if (!channels[i].outgoing) continue;
    EXPECT_NEAR(narrow[i], channels[i].peer == 0 ? 0.5e8 / 3 : 0.5e8 / 4 / 4, 1) << channels[i].peer;
  }
}

TEST(Pace, OfAFastHostIsNotThatOfTheSlowest) {
  algorithms::Network network;
  for (Rank rank = 0; rank < 3; ++rank) network.rank_nodes.push_back(rank);
  network.nodes = 4;
  for (Rank rank = 0; rank < 3; ++rank) {
    const int64_t capacity = rank == 0 ? 25'000 : 100'000;  // 0.025 and 0.1 GB/s
    network.edges.push_back({rank, 3, capacity});
    network.edges.push_back({3, rank, capacity});
  }
  cost::Environment around = cost::regular(3, 1, 8, kRates);
  around.rates.between.beta = 4e-8;  // of the slowest
  around.links = cost::NetworkLinks::of(network, around.host_of);
  ASSERT_NE(around.links, nullptr);
  const std::vector<Rank> order = {0, 1, 2};
  std::vector<exec::Channel> channels;
  for (const Rank self : order) {
    const auto by_channel = paces("ring", Collective::all_gather, self, order, around, &channels);
    for (size_t i = 0; i < channels.size(); ++i) {
      if (!channels[i].outgoing) continue;
      const bool slow = self == 0 || channels[i].peer == 0;
      EXPECT_NEAR(by_channel[i], slow ? 0.5 * 25e6 : 0.5 * 100e6, 1) << self;
    }
  }
}

}  // namespace
}  // namespace weir::core
