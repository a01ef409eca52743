// SPDX-License-Identifier: Apache-2.0
/// Sums of squares per block.
#include "trainer/shard/norm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weir::shard {
namespace {

TEST(ShardNorm, SumsSquaresPerBlock) {
  std::vector<float> values(2 * kNormBlock + 5, 2.0F);
  values[0] = 3.0F;
  values[kNormBlock] = -1.0F;
  std::vector<float> sums(3);
  square_blocks(values, sums.data());
  EXPECT_THAT(sums, ::testing::ElementsAre(4.0F * 1023 + 9, 4.0F * 1023 + 1, 20.0F));
}

TEST(ShardNorm, BlocksDoNotDependOnWhatIsBeforeThem) {
  std::vector<float> values(4 * kNormBlock);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0F / static_cast<float>(i + 3);
  std::vector<float> all(4), half(2);
  square_blocks(values, all.data());
  square_blocks(std::span<const float>(values).subspan(2 * kNormBlock), half.data());
  EXPECT_THAT(half, ::testing::ElementsAre(all[2], all[3]));
}

}  // namespace
}  // namespace weir::shard
