// SPDX-License-Identifier: Apache-2.0
/// The order in which units are used.
#include "trainer/shard/visits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weir::shard {
namespace {

TEST(ShardVisits, ForwardThenBackwardPerMicroBatch) {
  const Visits visits(3, 2, true);
  std::vector<int> units, stays, last;
  for (int position = 0; position < visits.count(); ++position) {
    const Visit visit = visits.at(position);
    units.push_back(visit.unit);
    EXPECT_EQ(visit.micro_batch, position / 6);
    EXPECT_EQ(visit.backward, position % 6 >= 3);
    if (visits.stays(position)) stays.push_back(position);
    if (visits.is_last(position)) last.push_back(position);
  }
  EXPECT_THAT(units, ::testing::ElementsAre(0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0));
  EXPECT_THAT(stays, ::testing::ElementsAre(2, 5, 8));
  EXPECT_THAT(last, ::testing::ElementsAre(9, 10, 11));
}

TEST(ShardVisits, EvaluationIsForwardOnly) {
  const Visits visits(2, 1, false);
  ASSERT_EQ(visits.count(), 2);
  EXPECT_EQ(visits.at(1).unit, 1);
  EXPECT_TRUE(visits.is_last(0));
  EXPECT_FALSE(visits.stays(0));
}

}  // namespace
}  // namespace weir::shard
