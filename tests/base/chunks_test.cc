// SPDX-License-Identifier: Apache-2.0

#include "src/base/chunks.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace weir {
namespace {

TEST(Chunks, CoverEverythingInOrderAndDifferByOneGrain) {
  for (const size_t total : {0u, 1u, 7u, 64u, 1000u, 1003u}) {
    for (const size_t parts : {1u, 2u, 3u, 8u, 13u}) {
      for (const size_t grain : {1u, 4u, 16u}) {
        size_t end = 0, most = 0, least = SIZE_MAX;
        for (size_t index = 0; index < parts; ++index) {
          const Extent part = part_of(total, parts, index, grain);
          EXPECT_EQ(part.first, end) << total << " " << parts << " " << grain << " " << index;
          EXPECT_TRUE(end == total || part.first % grain == 0);
          end = part.first + part.count;
          most = std::max(most, part.count);
          if (end < total) least = std::min(least, part.count);
        }
        EXPECT_EQ(end, total);
        EXPECT_TRUE(least == SIZE_MAX || most - least <= grain);
      }
    }
  }
}

TEST(Chunks, AreRoundedUp) {
  EXPECT_EQ(round_up(0, 16), 0u);
  EXPECT_EQ(round_up(1, 16), 16u);
  EXPECT_EQ(round_up(16, 16), 16u);
  EXPECT_EQ(round_up(17, 16), 32u);
}

}  // namespace
}  // namespace weir
