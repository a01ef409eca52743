// SPDX-License-Identifier: Apache-2.0
// What staging is made of: pinned memory, flags, slots.
#include "src/core/staged/staging.h"

#include <gtest/gtest.h>

#include <set>

#include "src/core/staged/gpu_flags.h"
#include "tests/device/fake_gpu.h"

namespace weir::core {
namespace {

using device::GpuMemory;
using weir::testing::FakeGpu;

TEST(Staging, GrowsInPowersOfTwoAndKeepsWhatItHad) {
  FakeGpu gpu;
  {
    Staging staging(&gpu);
    EXPECT_EQ(staging.slots().bytes, 0u);
    ASSERT_TRUE(staging.reserve(1).ok());
    const Staging::Slots first = staging.slots();
    EXPECT_EQ(first.bytes, size_t{64} << 10);
    ASSERT_TRUE(staging.reserve(100'000).ok());
    EXPECT_EQ(staging.slots().bytes, size_t{128} << 10);
    EXPECT_NE(staging.slots().memory[0], first.memory[0]);
    first.memory[1][first.bytes - 1] = std::byte{1};  // somebody may still use it
    ASSERT_TRUE(staging.reserve(100'001).ok());
    EXPECT_EQ(staging.bytes(), Staging::kSlots * ((64 + 128) << 10));
    EXPECT_EQ(gpu.held(GpuMemory::pinned), staging.bytes());
  }
  EXPECT_EQ(gpu.held(GpuMemory::pinned), 0u);
}

TEST(Staging, WithoutAGpuIsOrdinaryMemory) {
  Staging staging(nullptr);
  ASSERT_TRUE(staging.reserve(10).ok());
  staging.slots().memory[0][0] = std::byte{1};
  EXPECT_EQ(staging.slots().memory[1] - staging.slots().memory[0], 64 << 10);
}

TEST(GpuFlags, AreDifferentWordsAndZero) {
  FakeGpu gpu;
  GpuFlags flags(gpu);
  std::set<std::atomic<uint32_t>*> words;
  for (int i = 0; i < 1500; ++i) {
    const auto flag = flags.take();
    ASSERT_TRUE(flag.ok());
    EXPECT_EQ(flag->host->load(), 0u);
    flag->host->store(7);
    words.insert(flag->host);
  }
  EXPECT_EQ(words.size(), 1500u);
  EXPECT_EQ(flags.bytes(), 8192u);
}

}  // namespace
}  // namespace weir::core
