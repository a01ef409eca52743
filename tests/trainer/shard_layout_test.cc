// SPDX-License-Identifier: Apache-2.0
/// How units are cut, and which ranks share a copy.
#include "trainer/shard/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "trainer/math/bfloat16.h"
#include "trainer/shard/arena.h"

namespace weir::shard {
namespace {

using ::testing::HasSubstr;
using trainer::from_bfloat16;
using trainer::to_bfloat16;

TEST(ShardLayout, ShardsAndPiecesAreAPartitionOfTheParameters) {
  for (size_t parameters : {1, 15, 1000, 1024, 1025, 5000, 123457})
    for (int shards : {1, 2, 3, 8})
      for (int replicas : {1, 2, 5}) {
        const Cut cut(parameters, shards, replicas);
        EXPECT_GE(cut.padded(), parameters);
        EXPECT_EQ(cut.shard_length() % kNormBlock, 0U);
        EXPECT_GE(cut.piece_length() * replicas, cut.shard_length());
        size_t at = 0;
        for (int shard = 0; shard < shards; ++shard) {
          EXPECT_TRUE(cut.shard(shard).count == 0 || cut.shard(shard).first == at);
          for (int replica = 0; replica < replicas; ++replica) {
            const Range piece = cut.piece({shard, shards, replica, replicas});
            if (piece.count == 0) continue;
            EXPECT_EQ(piece.first, at);
            at = piece.end();
          }
          EXPECT_EQ(cut.shard(shard).end(), at);
        }
        EXPECT_EQ(at, parameters);
      }
}

TEST(ShardLayout, PlacesFollowGroupsInTheOrderOfRanks) {
  const Result<std::vector<Place>> places = places_of({7, 3, 7, 3, 9, 9});
  ASSERT_TRUE(places.ok()) << places.status().message();
  const std::vector<std::pair<int, int>> expected = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {0, 2}, {1, 2}};
  for (size_t rank = 0; rank < expected.size(); ++rank) {
    EXPECT_EQ((*places)[rank].shard, expected[rank].first) << rank;
    EXPECT_EQ((*places)[rank].replica, expected[rank].second) << rank;
    EXPECT_EQ((*places)[rank].shards, 2);
    EXPECT_EQ((*places)[rank].replicas, 3);
  }
}

TEST(ShardLayout, GroupsOfUnequalSizeAreRefused) {
  const Status status = places_of({0, 0, 1}).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("rank 0 has 2 ranks and that of rank 2 has 1"));
}

TEST(ShardArena, MergesGapsAndNeverGivesTheSameMemoryTwice) {
  Result<Arena> arena = Arena::make(10 * Arena::kAlignment);
  ASSERT_TRUE(arena.ok()) << arena.status().message();
  char* first = arena->take(3 * Arena::kAlignment);
  char* second = arena->take(4 * Arena::kAlignment - 1);
  char* third = arena->take(3 * Arena::kAlignment);
  EXPECT_EQ(second - first, 3 * static_cast<ptrdiff_t>(Arena::kAlignment));
  EXPECT_EQ(arena->take(1), nullptr);
  arena->give(first);
  arena->give(third);
  EXPECT_EQ(arena->take(4 * Arena::kAlignment), nullptr);  // 6 are free, but apart
  arena->give(second);
  EXPECT_EQ(arena->take(10 * Arena::kAlignment), first);
}

TEST(ShardBfloat16, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0F)), 1.0F);
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0F + 1.0F / 256)), 1.0F);               // a tie, down to even
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0F + 3.0F / 256)), 1.0F + 4.0F / 256);  // a tie, up to even
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0F + 1.0F / 256 + 1e-6F)), 1.0F + 2.0F / 256);
  EXPECT_EQ(from_bfloat16(to_bfloat16(std::numeric_limits<float>::max())),
            std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(from_bfloat16(to_bfloat16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_EQ(from_bfloat16(to_bfloat16(-0.0F)), 0.0F);
}

}  // namespace
}  // namespace weir::shard
