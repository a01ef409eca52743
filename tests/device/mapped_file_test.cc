// SPDX-License-Identifier: Apache-2.0

#include "src/device/mapped_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/device/host_memory.h"
#include "tests/device/process_state.h"

namespace weir::device {
namespace {

using ::testing::HasSubstr;
using weir::testing::open_descriptors;

constexpr size_t kPage = 4096;

/// A memfd of some pages, mapped from its second page on.
class Mapped : public ::testing::Test {
 protected:
  static constexpr size_t kBytes = 16 * kPage;

  void SetUp() override {
    fd_ = memfd_create("a user's memory", MFD_CLOEXEC);
    ASSERT_GE(fd_, 0);
    ASSERT_EQ(ftruncate(fd_, kBytes + kPage), 0);
    data_ = map(fd_, MAP_SHARED);
  }
  void TearDown() override {
    munmap(data_, kBytes);
    if (fd_ >= 0) close(fd_);
  }
  static std::byte* map(int fd, int flags) {
    void* const data = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, fd, kPage);
    EXPECT_NE(data, MAP_FAILED);
    return static_cast<std::byte*>(data);
  }

  int fd_ = -1;
  std::byte* data_ = nullptr;
};

TEST_F(Mapped, TheFileBehindAPartOfAMapping) {
  auto found = find_mapped_file(data_ + 5 * kPage + 100, kPage);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->begin, data_ + 5 * kPage);
  EXPECT_EQ(found->bytes, 2 * kPage);
  EXPECT_EQ(found->offset, 6 * kPage);
}

TEST_F(Mapped, MappingsThatContinueEachOtherAreOne) {
  ASSERT_EQ(madvise(data_ + 3 * kPage, kPage, MADV_DONTFORK), 0);  // splits the mapping
  EXPECT_TRUE(find_mapped_file(data_, kBytes).ok());
  ASSERT_EQ(mprotect(data_ + 3 * kPage, kPage, PROT_READ), 0);
  EXPECT_FALSE(find_mapped_file(data_, kBytes).ok());
  EXPECT_TRUE(find_mapped_file(data_, 3 * kPage).ok());
}

/// Only a process that may open mappings (CAP_CHECKPOINT_RESTORE) finds the file again.
TEST_F(Mapped, AClosedMemfd) {
  const uint64_t inode = find_mapped_file(data_, kBytes)->inode;
  close(fd_);
  fd_ = -1;
  auto found = find_mapped_file(data_, kBytes);
  if (found.ok()) {
    EXPECT_EQ(found->inode, inode);
    return;
  }
  EXPECT_EQ(found.status().code(), Code::system_error);
  EXPECT_THAT(found.status().message(), HasSubstr("keep its descriptor open"));
}

/// Which the thread sanitizer watches.
TEST_F(Mapped, OtherThreadsOpenAndCloseMeanwhile) {
  constexpr int kBehindOthers = 100;
  close(std::exchange(fd_, fcntl(fd_, F_DUPFD_CLOEXEC, kBehindOthers)));
  std::jthread other([](const std::stop_token& stop) {
    while (!stop.stop_requested()) close(memfd_create("another's", MFD_CLOEXEC));
  });
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(find_mapped_file(data_, kBytes).ok());
}

TEST_F(Mapped, ANamedFileNeedsNoDescriptor) {
  char name[] = "/dev/shm/weir-test-XXXXXX";
  const int fd = mkstemp(name);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(ftruncate(fd, kBytes + kPage), 0);
  std::byte* const data = map(fd, MAP_SHARED);
  close(fd);
  EXPECT_TRUE(find_mapped_file(data, kBytes).ok());
  munmap(data, kBytes);
  unlink(name);
}

TEST_F(Mapped, WhatPeersCannotMap) {
  const std::vector<char> heap(kBytes);
  std::byte* const copied = map(fd_, MAP_PRIVATE);
  for (const void* data : {static_cast<const void*>(heap.data()), static_cast<const void*>(copied),
                           static_cast<const void*>(&heap), static_cast<const void*>(nullptr)}) {
    const auto found = find_mapped_file(data, 64);
    EXPECT_EQ(found.status().code(), Code::invalid_argument);
    EXPECT_THAT(found.status().message(), HasSubstr("MAP_SHARED"));
  }
  EXPECT_FALSE(find_mapped_file(data_, SIZE_MAX).ok());
  EXPECT_FALSE(find_mapped_file(data_, kBytes + 1).ok());
  munmap(copied, kBytes);
}

TEST_F(Mapped, PeersSeeRegisteredMemory) {
  const size_t before = open_descriptors();
  MemoryRegistry registry;
  std::byte* const buffer = data_ + 2 * kPage + 48;
  auto block = registry.adopt(buffer, 3 * kPage);
  ASSERT_TRUE(block.ok()) << block.status().message();
  const auto found = registry.find(buffer + 10, 100);
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(registry.find(buffer - 1, 10).has_value()) << "only what was registered";
  auto peer = SharedMemory::attach(*registry.handle(found->block));
  ASSERT_TRUE(peer.ok()) << peer.status().message();
  buffer[10] = std::byte{77};
  EXPECT_EQ(peer->data()[found->offset], std::byte{77});
  registry.forget(found->block);
  EXPECT_FALSE(registry.find(buffer, 1).has_value());
  EXPECT_FALSE(registry.handle(found->block).has_value());
  EXPECT_EQ(open_descriptors(), before);
  data_[0] = std::byte{1};  // still mapped
}

TEST_F(Mapped, RegisteredTwiceIsForgottenTwice) {
  MemoryRegistry registry;
  const BlockId first = *registry.adopt(data_, kPage);
  EXPECT_EQ(*registry.adopt(data_, kPage), first);
  EXPECT_FALSE(registry.adopt(data_ + 64, kPage).ok()) << "overlaps";
  EXPECT_FALSE(registry.adopt(data_, kPage - 1).ok());
  const BlockId beside = *registry.adopt(data_ + kPage, kPage);
  EXPECT_EQ(registry.free(data_).code(), Code::invalid_argument) << "not the allocator's";
  registry.forget(first);
  EXPECT_TRUE(registry.find(data_, kPage).has_value());
  registry.forget(first);
  EXPECT_FALSE(registry.find(data_, 1).has_value());
  EXPECT_EQ(registry.find(data_ + kPage, 1)->block, beside);
  registry.forget(beside);
  EXPECT_EQ(registry.count(), 0u);
}

TEST_F(Mapped, BeyondTheEndOfTheFile) {
  ASSERT_EQ(ftruncate(fd_, 4 * kPage), 0);
  EXPECT_TRUE(SharedMemory::adopt(data_, 3 * kPage).ok());
  const auto beyond = SharedMemory::adopt(data_, 3 * kPage + 1);
  EXPECT_THAT(beyond.status().message(), HasSubstr("beyond the end"));
}

}  // namespace
}  // namespace weir::device
