// SPDX-License-Identifier: Apache-2.0

#include "src/base/per_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace weir {
namespace {

std::atomic<int> alive{0};

struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
  int number = 0;
};

TEST(PerThread, IsMadeOnFirstUseAndGoesWithItsThread) {
  static PerThread<Counted> numbers;
  EXPECT_EQ(alive, 0);
  std::thread([] {
    numbers.get().number = 7;
    EXPECT_EQ(numbers.get().number, 7);
    EXPECT_EQ(alive, 1);
    std::thread([] {
      EXPECT_EQ(numbers.get().number, 0);
      EXPECT_EQ(alive, 2);
    }).join();
    EXPECT_EQ(alive, 1);
  }).join();
  EXPECT_EQ(alive, 0);
}

TEST(PerThread, OfTheSameTypeAreDifferent) {
  static PerThread<int> first, second;
  std::thread([] {
    first.get() = 1;
    second.get() = 2;
    EXPECT_EQ(first.get(), 1);
  }).join();
}

}  // namespace
}  // namespace weir
