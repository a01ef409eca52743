// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::perf {
namespace {

using ::testing::ElementsAre;

constexpr size_t kElements = 48;  // a multiple of what blocks are rounded to
constexpr size_t kSize = 4;       // bytes of one

/// Bytes per rank, of 3 ranks.
std::vector<size_t> moved(const char* program, bool in_place, int root = 0) {
  const Collective& collective = *find_collective(program);
  return bytes_to_move(collective, collective.layout(kElements, kSize, 3), kSize, 3, root, in_place);
}

TEST(BytesToMove, AllReduceReadsAllInputAndWritesAllOutput) {
  EXPECT_THAT(moved("all_reduce_perf", false), ElementsAre(384, 384, 384));
  EXPECT_THAT(moved("all_reduce_perf", true), ElementsAre(384, 384, 384));
}

TEST(BytesToMove, OnlyTheRootOfAReduceWrites) {
  EXPECT_THAT(moved("reduce_perf", false, 1), ElementsAre(192, 384, 192));
}

TEST(BytesToMove, WhatManyReadIsReadOnce) {
  EXPECT_THAT(moved("broadcast_perf", false, 2), ElementsAre(192, 192, 384));
  EXPECT_THAT(moved("all_gather_perf", false), ElementsAre(256, 256, 256));
}

TEST(BytesToMove, WhatIsThereInPlaceIsNotMoved) {
  EXPECT_THAT(moved("broadcast_perf", true, 2), ElementsAre(192, 192, 192));
  EXPECT_THAT(moved("all_gather_perf", true), ElementsAre(192, 192, 192));
  EXPECT_THAT(moved("gather_perf", true, 0), ElementsAre(128, 64, 64));
  EXPECT_THAT(moved("scatter_perf", true, 0), ElementsAre(128, 64, 64));
}

TEST(BytesToMove, ScatteredAndExchangedBlocksAreMovedOnce) {
  EXPECT_THAT(moved("reduce_scatter_perf", false), ElementsAre(256, 256, 256));
  EXPECT_THAT(moved("scatter_perf", false, 0), ElementsAre(256, 64, 64));
  EXPECT_THAT(moved("alltoall_perf", false), ElementsAre(384, 384, 384));
  EXPECT_THAT(moved("sendrecv_perf", false), ElementsAre(384, 384, 384));
}

}  // namespace
}  // namespace weir::perf
