// SPDX-License-Identifier: Apache-2.0
/// Who works on which grains.
#include "trainer/shard/grains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weir::shard {
namespace {

using ::testing::ElementsAre;

TEST(ShardGrainPlan, GivesEveryGrainToOneMicroBatchOfOneRank) {
  for (uint64_t grains : {1, 3, 8, 11, 48})
    for (int ranks : {1, 2, 3, 5, 8})
      for (uint64_t per_micro : {0, 1, 3, 11}) {
        const GrainPlan plan(grains, ranks, per_micro);
        uint64_t at = 0;
        for (int rank = 0; rank < ranks; ++rank)
          for (int micro = 0; micro < plan.micro_batches(); ++micro) {
            const GrainRange range = plan.of(rank, micro);
            if (range.count() == 0) continue;
            EXPECT_EQ(range.first, at);
            EXPECT_TRUE(per_micro == 0 || range.count() <= per_micro);
            at = range.end;
          }
        EXPECT_EQ(at, grains);
      }
}

TEST(ShardGrainPlan, ElevenOfFortyEight) {
  const GrainPlan plan(48, 1, 11);
  ASSERT_EQ(plan.micro_batches(), 5);
  std::vector<uint64_t> counts;
  for (int micro = 0; micro < 5; ++micro) counts.push_back(plan.of(0, micro).count());
  EXPECT_THAT(counts, ElementsAre(11, 11, 11, 11, 4));
}

}  // namespace
}  // namespace weir::shard
