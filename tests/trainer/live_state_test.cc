// SPDX-License-Identifier: Apache-2.0
/// State that ranks get from each other: which array begins with which, who sends what, and whole transfers
/// between engines of other strategies and numbers of ranks.
#include "trainer/checkpoint/live_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <optional>

#include "tests/trainer/toy.h"
#include "trainer/checkpoint/engine_state.h"

namespace weir::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace toy = shard::toy;
using Names = std::vector<std::string>;
using Pieces = std::vector<std::vector<Piece>>;

TEST(LiveState, ArraysBeginWithThoseOfTheSameName) {
  const Names found{"parameters", "mean"};
  const auto sources = sources_of(found, {true, true}, Names{"mean", "parameters"});
  ASSERT_TRUE(sources.ok()) << sources.status().message();
  EXPECT_THAT(*sources, ElementsAre(1, 0));
  EXPECT_THAT(sources_of(found, {true, false}, Names{"mean"}).status().message(), HasSubstr("'mean'"));
}

TEST(LiveState, GroupsThatAreLeftMoveUpAndFurtherOnesBeginAsCopies) {
  const Names found{"parameters",         "mean",   "local_parameters",  "mean.1",
                    "local_parameters.1", "mean.2", "local_parameters.2"};
  const std::vector<bool> complete{true, true, false, true, true, true, true};  // group 0 has lost a part
  const auto sources = sources_of(
      found, complete, Names{"parameters", "mean", "mean.1", "local_parameters.1", "mean.2", "other"});
  ASSERT_TRUE(sources.ok()) << sources.status().message();
  EXPECT_THAT(*sources, ElementsAre(0, 3, 5, 6, 3, SIZE_MAX));
}

TEST(LiveState, NoGroupIsLeft) {
  const Names found{"parameters", "mean", "mean.1"};
  EXPECT_FALSE(sources_of(found, {true, false, false}, Names{"mean"}).ok());
  EXPECT_TRUE(sources_of(found, {true, false, false}, Names{"parameters"}).ok());
}

TEST(LiveState, GroupsBeginWithTheParametersOfARunWithoutGroups) {
  const auto sources = sources_of(Names{"parameters", "mean"}, {true, true},
                                  Names{"local_parameters.1", "mean.1", "outer_momentum"});
  ASSERT_TRUE(sources.ok()) << sources.status().message();
  EXPECT_THAT(*sources, ElementsAre(0, 1, SIZE_MAX));
}

TEST(LiveState, ARankKeepsWhatItHasAndOthersShareTheSending) {
  const Pieces held{{{0, 0, 0, 100}}, {{0, 0, 0, 100}}, {}};
  const Pieces wanted{{{0, 0, 0, 50}}, {}, {{0, 0, 0, 30}, {0, 0, 30, 70}}};
  const auto moves = plan_moves(held, wanted);
  ASSERT_TRUE(moves.ok()) << moves.status().message();
  ASSERT_EQ(moves->size(), 3U);
  EXPECT_EQ((*moves)[0].from, 0);
  EXPECT_NE((*moves)[1].from, (*moves)[2].from);
  EXPECT_EQ((*moves)[2].request, 1U);
}

TEST(LiveState, AStretchMayComeFromSeveralRanks) {
  const Pieces held{{{1, 2, 0, 10}}, {{1, 2, 10, 10}}};
  const auto moves = plan_moves(held, Pieces{{{1, 2, 5, 10}}, {}});
  ASSERT_TRUE(moves.ok()) << moves.status().message();
  ASSERT_EQ(moves->size(), 2U);
  EXPECT_EQ((*moves)[1].from, 1);
  EXPECT_EQ((*moves)[1].piece.first, 10U);
  EXPECT_EQ((*moves)[1].piece.count, 5U);
  EXPECT_THAT(plan_moves(held, Pieces{{{1, 2, 15, 10}}, {}}).status().message(), HasSubstr("element 20"));
}

shard::EngineOptions with(shard::Strategy strategy) {
  shard::EngineOptions options;
  options.strategy = strategy;
  return options;
}

/// Three ranks have the state of an engine; some of them are lost, and others join, with another strategy.
void carry(shard::Strategy before, shard::Strategy after, std::vector<int> lost, int newcomers,
           bool is_complete) {
  constexpr int kBefore = 3;
  std::vector<std::optional<LiveState>> kept(kBefore);
  std::vector<float> expected;
  toy::with_ranks(kBefore, [&](int rank, ncclComm_t world) {
    auto engine = shard::ShardEngine::create(world, toy::units(), with(before));
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    toy::initialise(**engine);
    auto state = copy_state(**engine, {}, 7);
    ASSERT_TRUE(state.ok()) << state.status().message();
    kept[static_cast<size_t>(rank)] = std::move(*state);
    const auto whole = toy::whole(**engine);
    ASSERT_TRUE(whole.ok());
    if (rank == 0) expected = *whole;
  });
  for (const int rank : lost) kept[static_cast<size_t>(rank)].reset();
  std::erase_if(kept, [](const auto& state) { return !state.has_value(); });
  const int ranks = static_cast<int>(kept.size()) + newcomers;
  toy::with_ranks(ranks, [&](int rank, ncclComm_t world) {
    auto engine = shard::ShardEngine::create(world, toy::units(), with(after));
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    const auto own = static_cast<size_t>(rank);
    const auto loaded = load_live(world, own < kept.size() ? &*kept[own] : nullptr, **engine, {});
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(*loaded, is_complete);
    if (!is_complete) return;
    const auto whole = toy::whole(**engine);
    ASSERT_TRUE(whole.ok());
    EXPECT_EQ(*whole, expected);
  });
}

TEST(LiveState, RanksThatJoinGetTheirShards) {
  using shard::Strategy;
  carry(Strategy::full_shard, Strategy::full_shard, {}, 2, true);
  carry(Strategy::no_shard, Strategy::no_shard, {0, 2}, 2, true);
  carry(Strategy::no_shard, Strategy::full_shard, {1}, 1, true);
  carry(Strategy::full_shard, Strategy::no_shard, {}, 0, true);
}

TEST(LiveState, WhatOnlyALostRankHadIsMissingOnAllRanks) {
  carry(shard::Strategy::full_shard, shard::Strategy::full_shard, {1}, 1, false);
  carry(shard::Strategy::no_shard, shard::Strategy::no_shard, {0, 1, 2}, 2, false);
}

}  // namespace
}  // namespace weir::checkpoint
