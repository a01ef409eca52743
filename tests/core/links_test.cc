// SPDX-License-Identifier: Apache-2.0

#include "src/core/channels/links.h"

#include <gtest/gtest.h>

#include "tests/core/on_hosts.h"

namespace weir::core {
namespace {

TEST(SlotSizes, AreLargerForPlansBetweenHosts) {
  constexpr uint32_t kKiB = 1024;
  Options options;
  options.slots = 5;
  for (const auto& peers : {on_hosts({7}), on_hosts({7, 7, 7})}) {
    const SlotSizes sizes = SlotSizes::of(options, peers);
    EXPECT_EQ(sizes.plan.count, 5u);
    EXPECT_EQ(sizes.plan.bytes, 64 * kKiB);
  }
  for (const auto& peers : {on_hosts({7, 8}), on_hosts({7, 7, 8, 7})}) {
    const SlotSizes sizes = SlotSizes::of(options, peers);
    EXPECT_EQ(sizes.plan.count, 5u);
    EXPECT_EQ(sizes.plan.bytes, 256 * kKiB);
  }
}

TEST(SlotSizes, AreLargerForSendsOfFewRanksOnOneHost) {
  Options options;
  options.slots = 5;
  for (const auto& peers : {on_hosts({7, 7}), on_hosts({7, 7, 7, 7, 7, 7, 7, 7})}) {
    const SlotSizes sizes = SlotSizes::of(options, peers);
    EXPECT_EQ(sizes.pair.count, 2u);
    EXPECT_EQ(sizes.pair.bytes, 256u << 10);
  }
  for (const auto& peers : {on_hosts({7, 8}), on_hosts({7, 7, 7, 7, 7, 7, 7, 7, 7})}) {
    const SlotSizes sizes = SlotSizes::of(options, peers);
    EXPECT_EQ(sizes.pair.count, 5u);
    EXPECT_EQ(sizes.pair.bytes, 64u << 10);
  }
}

TEST(SlotSizes, AreWhatIsSaid) {
  Options options;
  options.slot_bytes = 8192;
  for (const auto& peers : {on_hosts({7, 7}), on_hosts({7, 8})}) {
    const SlotSizes sizes = SlotSizes::of(options, peers);
    EXPECT_EQ(sizes.plan.bytes, 8192u);
    EXPECT_EQ(sizes.pair.bytes, 8192u);
  }
}

}  // namespace
}  // namespace weir::core
