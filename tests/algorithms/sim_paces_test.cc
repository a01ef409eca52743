// SPDX-License-Identifier: Apache-2.0

#include "algorithms/sim/paces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "algorithms/sim/simulate.h"
#include "tests/algorithms/sim_networks.h"
#include "tests/algorithms/some_layout.h"

namespace weir::sim {
namespace {

using algorithms::plan_of;

constexpr double kPort = 10;  // GB/s

/// Of each channel from one rank to the other.
std::vector<double> between(const ir::Plan& plan, const Paces& paces, Rank src, Rank dst) {
  std::set<std::pair<uint8_t, uint8_t>> lanes;
  for (const ir::Move& move : plan.moves) {
    if (move.src == src && move.dst == dst) lanes.emplace(move.src_lane, move.dst_lane);
  }
  std::vector<double> found;
  for (const auto& [from, to] : lanes) found.push_back(paces.of(src, from, dst, to));
  return found;
}

TEST(Paces, ShareThePortsThatARoundPasses) {
  struct Case {
    std::string_view algorithm;
    Collective kind;
    Rank src, dst;
    double pace;
  };
  const Network network = star(5, kPort);
  for (const Case& c : {Case{"ring", Collective::all_gather, 2, 3, kPort},
                        {"pairwise", Collective::all_to_all, 4, 1, kPort / 4},
                        {"one_shot", Collective::gather, 4, 0, kPort / 4}}) {
    const ir::Plan plan = plan_of(c.algorithm, c.kind, 5);
    const auto paces = Paces::over(plan, network);
    ASSERT_TRUE(paces.ok());
    const std::vector<double> found = between(plan, *paces, c.src, c.dst);
    ASSERT_FALSE(found.empty());
    for (const double pace : found) EXPECT_DOUBLE_EQ(pace, c.pace * 1e9) << c.algorithm;
  }
}

TEST(Paces, TheNarrowestCountsAndChannelsOfARoundShare) {
  ir::Plan plan = plan_of("one_shot", Collective::gather, 3);
  const std::vector<double> rates = {6e9, 1e9};
  // Rank 1 passes both, rank 2 the first only.
  const auto passes = [](Rank src, Rank, std::vector<size_t>& numbers) {
    numbers.push_back(0);
    if (src == 1) numbers.push_back(1);
  };
  const Paces paces(plan, rates, passes);
  EXPECT_EQ(between(plan, paces, 1, 0), std::vector{1e9});
  EXPECT_EQ(between(plan, paces, 2, 0), std::vector{3e9});
  EXPECT_EQ(paces.of(0, 0, 1, 0), 0) << "nothing goes there";
  const auto sent = std::ranges::find_if(plan.moves, [](const ir::Move& move) { return move.src == 2; });
  ASSERT_NE(sent, plan.moves.end());
  ir::Move beside = *sent;
  ++beside.src_lane;
  plan.moves.push_back(beside);
  const Paces three(plan, rates, passes);
  EXPECT_EQ(between(plan, three, 2, 0), (std::vector{2e9, 2e9}));
}

TEST(Paces, ThatAreFairCostTheSimulatorNothing) {
  const Network network = star(4, kPort);
  Channels paced;
  paced.paced = true;
  for (const auto& [algorithm, kind] : {std::pair{"ring", Collective::all_reduce},
                                        {"pairwise", Collective::all_to_all},
                                        {"one_shot", Collective::gather}}) {
    const ir::Plan plan = plan_of(algorithm, kind, 4);
    const double free = simulate(plan, 1 << 24, network, Channels{})->seconds;
    EXPECT_NEAR(simulate(plan, 1 << 24, network, paced)->seconds, free, 1e-6 * free) << algorithm;
    paced.pace = kPort / 100;
    EXPECT_GT(simulate(plan, 1 << 24, network, paced)->seconds, 10 * free) << "the lesser of both";
    paced.pace = 0;
  }
}

}  // namespace
}  // namespace weir::sim
