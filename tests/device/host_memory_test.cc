// SPDX-License-Identifier: Apache-2.0

#include "src/device/host_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>

#include "tests/base/sanitized.h"
#include "tests/device/process_state.h"

namespace weir::device {
namespace {

using ::testing::HasSubstr;
using weir::testing::open_descriptors;
using weir::testing::shared_mappings;

std::byte* bytes_of(void* data) { return static_cast<std::byte*>(data); }

TEST(MemoryRegistry, FindsWhatIsInside) {
  MemoryRegistry registry;
  const auto made = registry.allocate(10000);
  ASSERT_TRUE(made.ok()) << made.status().message();
  std::byte* const base = bytes_of(made.value());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(base) % 4096, 0u);
  const auto all = registry.find(base, 10000);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(all->offset, 0u);
  EXPECT_EQ(all->block.generation, 1u);
  EXPECT_EQ(registry.find(base + 9999, 1)->offset, 9999u);
  EXPECT_TRUE(registry.find(base + 17, 0).has_value());
  EXPECT_FALSE(registry.find(base - 1, 1).has_value());
  EXPECT_FALSE(registry.find(base, 12289).has_value()) << "longer than its pages";
  EXPECT_FALSE(registry.find(base + 5000, SIZE_MAX).has_value());
  EXPECT_FALSE(registry.find(base + 12288, 0).has_value());
  EXPECT_FALSE(registry.find(&registry, 1).has_value());
  EXPECT_FALSE(registry.find(nullptr, 0).has_value());
}

TEST(MemoryRegistry, Refusals) {
  MemoryRegistry registry;
  EXPECT_EQ(registry.allocate(0).status().code(), Code::invalid_argument);
  EXPECT_EQ(registry.allocate(SIZE_MAX / 4).status().code(), Code::system_error);
  void* const base = registry.allocate(100).value();
  EXPECT_EQ(registry.free(nullptr).code(), Code::invalid_argument);
  EXPECT_EQ(registry.free(bytes_of(base) + 1).code(), Code::invalid_argument);
  EXPECT_TRUE(registry.free(base).ok());
  const Status again = registry.free(base);
  EXPECT_EQ(again.code(), Code::invalid_argument);
  EXPECT_THAT(again.message(), HasSubstr("ncclMemAlloc"));
  EXPECT_EQ(registry.count(), 0u);
}

TEST(MemoryRegistry, FreedBlocksAreToldFromNewOnes) {
  MemoryRegistry registry;
  void* const first = registry.allocate(4096).value();
  const BlockId old = registry.find(first, 1)->block;
  ASSERT_TRUE(registry.handle(old).has_value());
  ASSERT_TRUE(registry.free(first).ok());
  EXPECT_FALSE(registry.handle(old).has_value());
  void* const second = registry.allocate(4096).value();
  const BlockId now = registry.find(second, 1)->block;
  EXPECT_EQ(now.slot, old.slot);
  EXPECT_NE(now.generation, old.generation);
  EXPECT_FALSE(registry.handle(old).has_value());
  EXPECT_FALSE(registry.handle({77, 1}).has_value());
  EXPECT_FALSE(registry.handle({now.slot, 0}).has_value());
}

TEST(MemoryRegistry, PeersMapWhatTheHandleNames) {
  MemoryRegistry registry;
  std::byte* const base = bytes_of(registry.allocate(8 << 20).value());
  std::memset(base, 9, 8 << 20);
  const auto handle = registry.handle(registry.find(base, 1)->block);
  ASSERT_TRUE(handle.has_value());
  auto peer = SharedMemory::attach(*handle);
  ASSERT_TRUE(peer.ok()) << peer.status().message();
  EXPECT_EQ(peer->data()[(8 << 20) - 1], std::byte{9});
  ASSERT_TRUE(registry.free(base).ok());
  EXPECT_EQ(peer->data()[0], std::byte{9}) << "the peer's mapping outlives the owner's";
}

/// Random allocations and frees against a plain list.
TEST(MemoryRegistry, AgreesWithAListUnderChurn) {
  MemoryRegistry registry;
  std::mt19937 random(3);
  std::vector<std::pair<std::byte*, size_t>> live;
  for (int turn = 0; turn < 2000; ++turn) {
    if (live.size() < 5 || (random() % 2 == 0 && live.size() < 60)) {
      const size_t pages = 1 + random() % 8;
      live.emplace_back(bytes_of(registry.allocate(pages * 4096).value()), pages * 4096);
    } else {
      const size_t victim = random() % live.size();
      ASSERT_TRUE(registry.free(live[victim].first).ok());
      live.erase(live.begin() + static_cast<ptrdiff_t>(victim));
    }
    for (const auto& [base, size] : live) {
      const size_t offset = random() % size;
      const auto found = registry.find(base + offset, size - offset);
      ASSERT_TRUE(found.has_value());
      ASSERT_EQ(found->offset, offset);
      ASSERT_EQ(registry.handle(found->block)->size, size);
    }
    ASSERT_EQ(registry.count(), live.size());
  }
}

/// Readers always find a block that stays registered, whatever writers do concurrently, and never find one
/// that does not exist.
TEST(MemoryRegistry, ReadersBesideWriters) {
  MemoryRegistry registry;
  std::byte* const kept = bytes_of(registry.allocate(3 * 4096).value());
  const BlockId id = registry.find(kept, 1)->block;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      int on_stack = 0;
      while (!stop.load()) {
        const auto found = registry.find(kept + 4096, 8192);
        if (!found.has_value() || found->offset != 4096 || !(found->block == id)) ++wrong;
        if (registry.find(&on_stack, sizeof(on_stack)).has_value()) ++wrong;
      }
    });
  }
  for (int turn = 0; turn < testing::enough(300); ++turn) {
    void* several[8];
    for (void*& one : several) one = registry.allocate(4096).value();
    for (void* one : several) ASSERT_TRUE(registry.free(one).ok());
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(MemoryRegistry, ThousandCyclesLeaveNothing) {
  const size_t descriptors = open_descriptors();
  const size_t mappings = shared_mappings();
  {
    MemoryRegistry registry;
    for (int i = 0; i < 1000; ++i) {
      void* const base = registry.allocate(i % 10 == 0 ? 6 << 20 : 5000).value();
      ASSERT_TRUE(registry.free(base).ok());
    }
    EXPECT_EQ(open_descriptors(), descriptors);
    static_cast<void>(registry.allocate(4096));  // freed by the destructor
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(shared_mappings(), mappings);
}

}  // namespace
}  // namespace weir::device
