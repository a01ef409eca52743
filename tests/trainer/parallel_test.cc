// SPDX-License-Identifier: Apache-2.0
// Models cut into stages and slices: who has which part, in which order stages go, and what of it counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "trainer/parallel/grid.h"
#include "trainer/parallel/pipeline_schedule.h"
#include "trainer/shard/norm.h"

namespace weir::parallel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Ranks host by host.
std::vector<weirPlace_t> places_of(const std::vector<std::pair<int, int>>& ranks_and_leaf) {
  std::vector<weirPlace_t> places;
  for (size_t host = 0; host < ranks_and_leaf.size(); ++host)
    places.insert(places.end(), static_cast<size_t>(ranks_and_leaf[host].first),
                  {static_cast<int>(host), ranks_and_leaf[host].second});
  return places;
}

std::vector<GridPosition> grid_positions(const std::vector<weirPlace_t>& places, const Shape& shape) {
  const auto grid = make_grid(places, shape);
  EXPECT_TRUE(grid.ok()) << grid.status().message();
  return grid.ok() ? grid->grid_positions : std::vector<GridPosition>();
}

TEST(Grid, OfWholeModelsIsTheWorld) {
  const std::vector<weirPlace_t> places = {{0, 0}, {1, 1}, {0, 0}, {1, 1}};
  const auto found = grid_positions(places, {});
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(found[static_cast<size_t>(rank)], (GridPosition{rank, 0, 0}));
}

TEST(Grid, SlicesAreInnermostAndStagesNext) {
  const auto found = grid_positions(places_of({{8, 0}}), {2, 2});
  EXPECT_EQ(found[0], (GridPosition{0, 0, 0}));
  EXPECT_EQ(found[1], (GridPosition{0, 0, 1}));
  EXPECT_EQ(found[2], (GridPosition{0, 1, 0}));
  EXPECT_EQ(found[3], (GridPosition{0, 1, 1}));
  EXPECT_EQ(found[4], (GridPosition{1, 0, 0}));
  EXPECT_EQ(found[7], (GridPosition{1, 1, 1}));
}

/// Whatever the order in which ranks were numbered.
TEST(Grid, SlicesShareAHostAndStagesALeaf) {
  std::vector<weirPlace_t> places;  // 8 hosts of 4 ranks, numbered round robin; leaves of 4 hosts
  for (int rank = 0; rank < 32; ++rank) places.push_back({rank % 8, rank % 8 / 4});
  for (const Shape shape : {Shape{2, 4}, Shape{4, 2}, Shape{4, 1}, Shape{16, 1}, Shape{1, 4}}) {
    const auto grid = make_grid(places, shape);
    ASSERT_TRUE(grid.ok());
    EXPECT_EQ(grid->across_leaves, 0);
    std::map<std::pair<int, int>, std::set<int>> hosts;  // by replica and stage
    std::map<int, std::set<int>> leaves;                 // by replica
    std::set<std::tuple<int, int, int>> taken;
    for (size_t rank = 0; rank < places.size(); ++rank) {
      const GridPosition& grid_position = grid->grid_positions[rank];
      hosts[{grid_position.replica, grid_position.stage}].insert(places[rank].host);
      leaves[grid_position.replica].insert(places[rank].leaf);
      taken.insert({grid_position.replica, grid_position.stage, grid_position.slice});
    }
    EXPECT_EQ(taken.size(), places.size());
    for (const auto& [where, on] : hosts) EXPECT_EQ(on.size(), 1u);
    for (const auto& [replica, on] : leaves) EXPECT_EQ(on.size(), 1u);
  }
}

TEST(Grid, OnlyWhatIsLeftOfLeavesGoesAcross) {
  const auto grid = make_grid(places_of({{3, 0}, {2, 1}, {3, 0}, {2, 1}, {2, 1}}), {4, 1});
  ASSERT_TRUE(grid.ok());
  EXPECT_EQ(grid->across_leaves, 1);  // 6 ranks on either leaf: a replica each, and one of what is left
  std::map<int, std::set<int>> leaves;
  const auto places = places_of({{3, 0}, {2, 1}, {3, 0}, {2, 1}, {2, 1}});
  for (size_t rank = 0; rank < places.size(); ++rank)
    leaves[grid->grid_positions[rank].replica].insert(places[rank].leaf);
  EXPECT_EQ(std::ranges::count_if(leaves, [](const auto& entry) { return entry.second.size() > 1; }), 1);
}

TEST(Grid, WhatDoesNotDivideIsTold) {
  EXPECT_THAT(make_grid(places_of({{6, 0}}), {4, 1}).status().message(),
              HasSubstr("a model in 4 parts (4 stages, 1 slices) needs a number of ranks that is a multiple "
                        "of this; there are 6 ranks"));
  const Status apart = make_grid(places_of({{2, 0}, {3, 0}, {3, 0}}), {1, 2}).status();
  EXPECT_EQ(apart.code(), Code::invalid_argument);
  EXPECT_THAT(apart.message(),
              HasSubstr("the 3 ranks on the host of rank 2 cannot be divided into groups of 2 slices"));
  EXPECT_FALSE(make_grid(places_of({{2, 0}}), {0, 1}).ok());
}

TEST(Balance, TheCostliestStageIsAsCheapAsCanBe) {
  const auto ranges = balance({1, 8, 8, 8, 8, 3}, 3);
  ASSERT_TRUE(ranges.ok());
  double most = 0;
  size_t next = 0;
  const std::vector<double> costs = {1, 8, 8, 8, 8, 3};
  for (const UnitRange& range : *ranges) {
    EXPECT_EQ(range.first, next);
    EXPECT_GT(range.count(), 0u);
    double sum = 0;
    for (size_t at = range.first; at < range.end; ++at) sum += costs[at];
    most = std::max(most, sum);
    next = range.end;
  }
  EXPECT_EQ(next, costs.size());
  EXPECT_EQ(most, 16);
  EXPECT_EQ(balance({5, 5}, 2)->front(), (UnitRange{0, 1}));
  EXPECT_THAT(balance({1, 1}, 3).status().message(), HasSubstr("2 units cannot be cut into 3 stages"));
  EXPECT_FALSE(balance({1}, 0).ok());
}

/// Stages that hand over one message at a time: whether all come to the end, and how many micro-batches are
/// under way in each at most.
std::vector<int> play(int stages, int micro_batches) {
  std::vector<std::vector<shard::Pass>> orders;
  for (int stage = 0; stage < stages; ++stage)
    orders.push_back(one_forward_one_backward(stage, stages, micro_batches));
  const auto of = [](int stage) { return static_cast<size_t>(stage); };
  std::vector<size_t> done(of(stages));
  std::vector<int> forward(of(stages)), backward(of(stages)), most(of(stages));
  for (bool moved = true; moved;) {
    moved = false;
    for (int stage = 0; stage < stages; ++stage) {
      if (done[of(stage)] == orders[of(stage)].size()) continue;
      const shard::Pass pass = orders[of(stage)][done[of(stage)]];
      const bool ready = pass.backward ? stage == stages - 1 || backward[of(stage + 1)] > pass.micro_batch
                                       : stage == 0 || forward[of(stage - 1)] > pass.micro_batch;
      if (!ready) continue;
      int& count = pass.backward ? backward[of(stage)] : forward[of(stage)];
      EXPECT_EQ(pass.micro_batch, count) << "in order";
      ++count;
      most[of(stage)] = std::max(most[of(stage)], forward[of(stage)] - backward[of(stage)]);
      ++done[of(stage)];
      moved = true;
    }
  }
  EXPECT_THAT(forward, ::testing::Each(micro_batches)) << stages << " stages came to a stop";
  EXPECT_THAT(backward, ::testing::Each(micro_batches)) << stages << " stages came to a stop";
  return most;
}

TEST(OneForwardOneBackward, NeitherStopsNorKeepsMoreThanItSays) {
  for (int stages = 1; stages <= 6; ++stages)
    for (int micro_batches = 1; micro_batches <= 9; ++micro_batches) {
      const std::vector<int> most = play(stages, micro_batches);
      for (int stage = 0; stage < stages; ++stage)
        EXPECT_EQ(most[static_cast<size_t>(stage)], most_in_flight(stage, stages, micro_batches));
    }
  EXPECT_THAT(play(4, 8), ElementsAre(4, 3, 2, 1));
}

}  // namespace
}  // namespace weir::parallel

namespace weir::shard {
namespace {

const Unit kSliced{"block", 6000, {{0, 0, 2500, true}, {2500, 9000, 500, false}, {3000, 20000, 3000, true}}};

TEST(Stretches, ArePartsOfThoseOfTheUnit) {
  const auto found = stretches_in(kSliced, {2000, 1500});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].whole, 2000u);
  EXPECT_EQ(found[0].count, 500u);
  EXPECT_FALSE(found[1].counts);
  EXPECT_EQ(found[2].whole, 20000u);
  EXPECT_EQ(found[2].count, 500u);
  EXPECT_EQ(stretches_in({"whole", 10}, {3, 4}).front().whole, 3u);
  EXPECT_TRUE(stretches_in(kSliced, {6000, 0}).empty());
}

TEST(NormParts, TakeEachElementThatCountsOnceHoweverAUnitIsCut) {
  EXPECT_EQ(norm_blocks(kSliced), 3u + 3u);
  std::vector<double> whole(6), cut(6);
  const auto add = [](const Range& own, std::vector<double>& blocks) {
    for (const NormPart& part : norm_parts(kSliced, own))
      for (size_t at = 0; at < part.range.count; ++at)
        blocks[part.block + at / kNormBlock] += static_cast<double>(part.range.first + at);
  };
  add({0, 6000}, whole);
  for (size_t first = 0; first < 6000; first += kNormBlock)
    add({first, std::min<size_t>(kNormBlock, 6000 - first)}, cut);
  EXPECT_EQ(whole, cut);
  EXPECT_GT(*std::ranges::min_element(whole), 0);
}

TEST(NormParts, OfAWholeUnitAreOneInTheOrderOfItsBlocks) {
  const auto parts = norm_parts({"whole", 5000}, {2048, 2952});
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].block, 2u);
  EXPECT_EQ(norm_blocks({"whole", 5000}), 5u);
}

}  // namespace
}  // namespace weir::shard
