// SPDX-License-Identifier: Apache-2.0

#include "src/device/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "tests/device/process_state.h"

namespace weir::device {
namespace {

using ::testing::HasSubstr;
using weir::testing::open_descriptors;
using weir::testing::shared_mappings;

/// Runs `body` in a forked child; its result is the exit status (0: fine).
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int state = 0;
  waitpid(child, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

/// A forked child that owns a segment until it is told to end, and the handle it published.
class ChildOwner {
 public:
  explicit ChildOwner(const std::function<void()>& before = [] {}) {
    EXPECT_EQ(pipe(tell_), 0);
    EXPECT_EQ(pipe(hear_), 0);
    child_ = fork();
    if (child_ == 0) own(before);
    EXPECT_EQ(read(hear_[0], &handle_, sizeof(handle_)), static_cast<ssize_t>(sizeof(handle_)));
  }
  ~ChildOwner() {
    end();
    for (const int fd : {tell_[0], tell_[1], hear_[0], hear_[1]}) close(fd);
  }
  const ShareHandle& handle() const { return handle_; }
  void end() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  [[noreturn]] void own(const std::function<void()>& before) {
    auto memory = SharedMemory::create(10000);
    std::strcpy(reinterpret_cast<char*>(memory->data()), "from the child");
    before();
    [[maybe_unused]] ssize_t sent = write(hear_[1], &memory->handle(), sizeof(ShareHandle));
    char byte;
    sent = read(tell_[0], &byte, 1);
    _exit(0);
  }

  int tell_[2];
  int hear_[2];
  pid_t child_ = 0;
  ShareHandle handle_;
};

TEST(SharedMemory, IsZeroedAndRoundedToPages) {
  auto memory = SharedMemory::create(5000);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  EXPECT_EQ(memory->size(), 8192u);
  EXPECT_EQ(memory->handle().size, 8192u);
  for (size_t i = 0; i < memory->size(); ++i) ASSERT_EQ(memory->data()[i], std::byte{0});
}

TEST(SharedMemory, RefusesNothingAndTooMuch) {
  EXPECT_EQ(SharedMemory::create(0).status().code(), Code::invalid_argument);
  EXPECT_EQ(SharedMemory::create(SIZE_MAX).status().code(), Code::invalid_argument);
  EXPECT_EQ(SharedMemory::create(SIZE_MAX / 4).status().code(), Code::system_error);
  EXPECT_EQ(SharedMemory::attach({}).status().code(), Code::invalid_argument);
}

TEST(SharedMemory, IsSparse) {
  auto memory = SharedMemory::create(size_t{64} << 30);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  memory->data()[memory->size() - 1] = std::byte{7};
  struct stat info;
  ASSERT_EQ(fstat(memory->handle().fd, &info), 0);
  EXPECT_LE(info.st_blocks * 512, 4 << 20);
}

TEST(SharedMemory, TwoMappingsInOneProcessShareBytes) {
  auto owner = SharedMemory::create(4096);
  auto other = SharedMemory::attach(owner->handle());
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_NE(owner->data(), other->data());
  EXPECT_EQ(other->handle(), owner->handle());
  owner->data()[17] = std::byte{42};
  EXPECT_EQ(other->data()[17], std::byte{42});
}

TEST(SharedMemory, ParentMapsWhatAChildMade) {
  ChildOwner child;
  auto memory = SharedMemory::attach(child.handle());
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  EXPECT_STREQ(reinterpret_cast<char*>(memory->data()), "from the child");
  child.end();  // the pages exist as long as a process maps them
  EXPECT_STREQ(reinterpret_cast<char*>(memory->data()), "from the child");
}

TEST(SharedMemory, DeadOwnerIsNamed) {
  ChildOwner child;
  child.end();
  const Status status = SharedMemory::attach(child.handle()).status();
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(), HasSubstr(std::to_string(child.handle().pid)));
  EXPECT_THAT(status.message(), HasSubstr("ended"));
}

TEST(SharedMemory, ReusedDescriptorIsNotMistaken) {
  auto first = SharedMemory::create(4096);
  const ShareHandle stale = first->handle();
  first->reset();
  auto second = SharedMemory::create(4096);
  ASSERT_EQ(second->handle().fd, stale.fd) << "the kernel gives the lowest free descriptor";
  const Status status = SharedMemory::attach(stale).status();
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(), HasSubstr("does not refer to that memory any more"));
  ShareHandle forged = second->handle();
  forged.token ^= 1;
  EXPECT_FALSE(SharedMemory::attach(forged).ok());
}

TEST(SharedMemory, OneThatItsOwnerCanShrinkIsNotMapped) {
  const auto owner = SharedMemory::create(4096);
  ShareHandle handle = owner->handle();
  handle.token ^= 1;
  handle.fd =
      memfd_create(fmt::format("weir-{:016x}", handle.token).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_GE(handle.fd, 0);
  ASSERT_EQ(ftruncate(handle.fd, 4096), 0);
  struct stat info;
  ASSERT_EQ(fstat(handle.fd, &info), 0);
  handle.inode = info.st_ino;
  const Status status = SharedMemory::attach(handle).status();
  EXPECT_EQ(status.code(), Code::remote_error);
  EXPECT_THAT(status.message(), HasSubstr("not sealed against shrinking"));
  EXPECT_FALSE(SharedMemory::probe(handle).ok());
  ASSERT_EQ(fcntl(handle.fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  EXPECT_TRUE(SharedMemory::attach(handle).ok());
  close(handle.fd);
}

TEST(SharedMemory, AHandleBeyondTheEndIsRefused) {
  const auto owner = SharedMemory::create(8192);
  ShareHandle handle = owner->handle();
  handle.offset = UINT64_MAX - 4095;
  EXPECT_FALSE(SharedMemory::attach(handle).ok()) << "offset and size wrap around";
  handle.offset = 4096;
  EXPECT_FALSE(SharedMemory::attach(handle).ok());
}

TEST(SharedMemory, OtherPidNamespaceIsExplained) {
  auto memory = SharedMemory::create(4096);
  ShareHandle foreign = memory->handle();
  foreign.pid_namespace ^= 1;
  foreign.token ^= 1;
  const Status status = SharedMemory::attach(foreign).status();
  EXPECT_EQ(status.code(), Code::system_error);
  EXPECT_THAT(status.message(), HasSubstr("pid namespace"));
}

TEST(SharedMemory, OtherUserIsExplained) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  auto memory = SharedMemory::create(4096);
  const ShareHandle handle = memory->handle();
  const int result = in_child([&] {
    if (setgid(65534) != 0 || setuid(65534) != 0) return 2;
    const Status status = SharedMemory::attach(handle).status();
    if (status.code() != Code::system_error) return 3;
    return status.message().find("same user") != std::string::npos ? 0 : 4;
  });
  EXPECT_EQ(result, 0);
}

TEST(SharedMemory, AddressSpaceLimitIsExplained) {
  const int result = in_child([] {
    const rlimit limit{size_t{1} << 34, size_t{1} << 34};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
    const Status status = SharedMemory::create(size_t{1} << 35).status();
    if (status.code() != Code::system_error) return 3;
    return status.message().find("ulimit -v") != std::string::npos ? 0 : 4;
  });
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_EQ(result, 0);
#else
  static_cast<void>(result);  // sanitizers reserve more address space than the limit
#endif
}

TEST(SharedMemory, FileSizeLimitIsAnErrorNotASignal) {
  const int result = in_child([] {
    const rlimit limit{1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    return SharedMemory::create(2 << 20).status().code() == Code::system_error ? 0 : 3;
  });
  EXPECT_EQ(result, 0);
}

TEST(SharedMemory, CannotBeShrunk) {
  auto memory = SharedMemory::create(1 << 20);
  EXPECT_NE(ftruncate(memory->handle().fd, 4096), 0);
  memory->data()[memory->size() - 1] = std::byte{1};
}

TEST(SharedMemory, HugePagesAreAligned) {
  auto memory = SharedMemory::create(5 << 20, Pages::huge);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % (2 << 20), 0u);
  auto peer = SharedMemory::attach(memory->handle(), Pages::huge);
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(peer->data()) % (2 << 20), 0u);
  std::memset(memory->data(), 3, memory->size());
  EXPECT_EQ(peer->data()[peer->size() - 1], std::byte{3});
}

TEST(SharedMemory, MovesAndResets) {
  auto made = SharedMemory::create(4096);
  std::byte* const data = made->data();
  SharedMemory first = std::move(made.value());
  EXPECT_EQ(first.data(), data);
  EXPECT_EQ(made->data(), nullptr);
  EXPECT_EQ(made->size(), 0u);
  SharedMemory second;
  second = std::move(first);
  EXPECT_EQ(second.data(), data);
  second.reset();
  EXPECT_EQ(second.data(), nullptr);
  second.reset();
}

TEST(SharedMemory, ThousandCyclesLeaveNothing) {
  ChildOwner child;
  const size_t descriptors = open_descriptors();
  const size_t mappings = shared_mappings();
  for (int i = 0; i < 1000; ++i) {
    auto own = SharedMemory::create(3 << 20, i % 2 == 0 ? Pages::huge : Pages::normal);
    auto self = SharedMemory::attach(own->handle());
    auto peer = SharedMemory::attach(child.handle(), Pages::huge);
    ShareHandle wrong = child.handle();
    wrong.token ^= 1;
    auto refused = SharedMemory::attach(wrong);
    ASSERT_TRUE(own.ok() && self.ok() && peer.ok() && !refused.ok());
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(shared_mappings(), mappings);
}

}  // namespace
}  // namespace weir::device
