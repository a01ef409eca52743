// SPDX-License-Identifier: Apache-2.0
#include "src/heap/page_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace weir::heap {
namespace {

constexpr uintptr_t kBegin = uintptr_t{1} << 40;
constexpr size_t kPage = 4096;

TEST(PageRanges, TheSmallestThatIsLargeEnoughIsTaken) {
  PageRanges ranges;
  ranges.add(kBegin, 8 * kPage);
  ranges.add(kBegin + 10 * kPage, 2 * kPage);
  EXPECT_EQ(ranges.take(2 * kPage, kPage), kBegin + 10 * kPage);
  EXPECT_EQ(ranges.take(2 * kPage, kPage), kBegin);
  EXPECT_EQ(ranges.take(7 * kPage, kPage), 0u);
  EXPECT_EQ(ranges.bytes(), 6 * kPage);
}

TEST(PageRanges, NeighboursAreMerged) {
  PageRanges ranges;
  ranges.add(kBegin, kPage);
  ranges.add(kBegin + 2 * kPage, kPage);
  EXPECT_EQ(ranges.take(3 * kPage, kPage), 0u);
  ranges.add(kBegin + kPage, kPage);
  EXPECT_EQ(ranges.take(3 * kPage, kPage), kBegin);
}

TEST(PageRanges, AlignmentLeavesWhatIsBefore) {
  PageRanges ranges;
  ranges.add(kBegin + kPage, 100 * kPage);
  EXPECT_EQ(ranges.take(kPage, 64 * kPage), kBegin + 64 * kPage);
  EXPECT_EQ(ranges.take(kPage, 64 * kPage), 0u);
  EXPECT_EQ(ranges.bytes(), 99 * kPage);
}

TEST(PageRanges, OnlyWholePartsAreTakenAtAPlace) {
  PageRanges ranges;
  ranges.add(kBegin, 4 * kPage);
  EXPECT_FALSE(ranges.take_at(kBegin + 3 * kPage, 2 * kPage));
  EXPECT_FALSE(ranges.take_at(kBegin - kPage, kPage));
  EXPECT_TRUE(ranges.take_at(kBegin + kPage, 2 * kPage));
  EXPECT_FALSE(ranges.take_at(kBegin + kPage, kPage));
  EXPECT_EQ(ranges.bytes(), 2 * kPage);
}

/// Compared with a table of pages.
TEST(PageRanges, HaveWhatAModelHas) {
  constexpr size_t kPages = 200;
  std::mt19937 random(7);
  std::vector<bool> free(kPages, true);
  PageRanges ranges;
  ranges.add(kBegin, kPages * kPage);
  for (int round = 0; round < 3000; ++round) {
    const size_t pages = 1 + random() % 12;
    if (random() % 2 == 0) {
      const uintptr_t found = ranges.take(pages * kPage, kPage << (random() % 3));
      for (size_t i = 0; found != 0 && i < pages; ++i) {
        ASSERT_TRUE(free[(found - kBegin) / kPage + i]);
        free[(found - kBegin) / kPage + i] = false;
      }
    } else {
      for (size_t at = random() % kPages, i = 0; i < pages && at < kPages && !free[at]; ++i, ++at) {
        ranges.add(kBegin + at * kPage, kPage);
        free[at] = true;
      }
    }
    ASSERT_EQ(ranges.bytes() / kPage, static_cast<size_t>(std::count(free.begin(), free.end(), true)));
  }
}

}  // namespace
}  // namespace weir::heap
