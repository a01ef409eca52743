// SPDX-License-Identifier: Apache-2.0
#include "src/heap/shared_heap.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>

namespace weir::heap {
namespace {

constexpr size_t kBytes = size_t{64} << 20;

class SharedHeapTest : public ::testing::Test {
 protected:
  SharedHeapTest() {
    const char* call = nullptr;
    heap_ = SharedHeap::create(kBytes, call);
    EXPECT_NE(heap_, nullptr) << call << ": " << strerror(errno);
  }
  std::byte* allocate(size_t bytes, bool zeroes = false) {
    return static_cast<std::byte*>(heap_->allocate(bytes, 1, zeroes));
  }

  SharedHeap* heap_ = nullptr;  // lives as long as the process
};

TEST_F(SharedHeapTest, AllocatesUntilItIsFull) {
  void* const half = heap_->allocate(kBytes / 2, 1, false);
  void* const rest = heap_->allocate(kBytes / 2, 1, false);
  ASSERT_NE(half, nullptr);
  ASSERT_NE(rest, nullptr);
  EXPECT_EQ(heap_->allocate(1, 1, false), nullptr);
  EXPECT_EQ(heap_->allocate(SIZE_MAX, 1, false), nullptr);
  EXPECT_TRUE(heap_->contains(half));
  EXPECT_FALSE(heap_->contains(&heap_));
  heap_->free(half);
  EXPECT_EQ(heap_->allocate(kBytes / 2, 1, false), half);
}

TEST_F(SharedHeapTest, GivesZeroesWhereMemoryWasUsedBefore) {
  for (int round = 0; round < 3; ++round) {
    std::byte* const used = allocate(kBytes - (1 << 20));
    ASSERT_NE(used, nullptr);
    std::memset(used, 1, kBytes - (1 << 20));
    heap_->free(used);
    std::byte* const small = allocate(1 << 20);  // of those that are kept
    std::memset(small, 1, 1 << 20);
    heap_->free(small);
    std::byte* const zeroes = allocate(kBytes, true);
    ASSERT_NE(zeroes, nullptr);
    EXPECT_TRUE(std::all_of(zeroes, zeroes + kBytes, [](std::byte byte) { return byte == std::byte{0}; }));
    heap_->free(zeroes);
  }
}

TEST_F(SharedHeapTest, AlignsAndExtends) {
  void* const first = heap_->allocate(1, 1, false);  // so that the heap cannot become one allocation
  void* const aligned = heap_->allocate(100'000, 1 << 21, false);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(aligned) % (1 << 21), 0u);
  EXPECT_EQ(heap_->size_of(aligned), 25 * 4096u);
  EXPECT_TRUE(heap_->extend(aligned, 1'000'000));
  EXPECT_EQ(heap_->size_of(aligned), 245 * 4096u);
  std::memset(aligned, 3, 1'000'000);
  EXPECT_FALSE(heap_->extend(aligned, kBytes));
  EXPECT_EQ(heap_->size_of(aligned), 245 * 4096u);
  heap_->free(aligned);
  heap_->free(first);
}

/// Runs `body` in a forked child; whether it returned true.
bool in_child(SharedHeap& heap, const std::function<bool()>& body, const std::function<void()>& meanwhile) {
  heap.before_fork();
  const pid_t child = fork();
  if (child == 0) {
    heap.after_fork_in_child();
    _exit(body() ? 0 : 1);
  }
  heap.after_fork_in_parent();
  meanwhile();
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(SharedHeapTest, AForkedChildHasACopyAndChangesNothing) {
  constexpr size_t kSize = 3 << 20;
  std::byte* const data = allocate(kSize);
  std::byte* const untouched = allocate(kSize, true);
  std::memset(data, 1, kSize);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto all = [](const std::byte* from, int value) {
    return std::all_of(from, from + kSize, [=](std::byte byte) { return byte == std::byte(value); });
  };
  const auto body = [&] {
    char changed = 0;
    if (read(ends[0], &changed, 1) != 1) return false;  // the parent has changed its own
    bool right = all(data, 1) && all(untouched, 0) && heap_->shared() == nullptr;
    std::memset(data, 7, kSize);
    std::memset(untouched, 7, kSize);
    right &= heap_->allocate(1 << 20, 1, false) == nullptr && heap_->size_of(data) == kSize;
    heap_->free(data);
    return right && all(untouched, 7);
  };
  EXPECT_TRUE(in_child(*heap_, body, [&] {
    std::memset(data, 2, kSize);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  }));
  EXPECT_TRUE(all(data, 2));
  EXPECT_TRUE(all(untouched, 0));
  EXPECT_NE(heap_->shared(), nullptr);
  heap_->free(data);
  heap_->free(untouched);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(SharedHeapTest, AProcessThatOnlyTheKernelHasForkedHasNoHeap) {
  auto* const data = allocate(1 << 20);
  *data = std::byte{1};
  const pid_t child = fork();  // the test's heap has no handlers
  if (child == 0) {
    *static_cast<volatile std::byte*>(data) = std::byte{2};
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(*data, std::byte{1});
}

TEST_F(SharedHeapTest, EndsTheProcessThatFreesTwice) {
  auto* const data = allocate(1 << 20);
  heap_->free(data);
  EXPECT_DEATH(heap_->free(data), "freed it twice");
}

}  // namespace
}  // namespace weir::heap
