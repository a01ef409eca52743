// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/memory_owner.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <vector>

namespace weir {
namespace {

constexpr size_t kBytes = 100'000;

std::vector<std::byte> pattern() {
  std::vector<std::byte> data(kBytes);
  for (size_t i = 0; i < kBytes; ++i) data[i] = static_cast<std::byte>(i * 7 + i / 256);
  return data;
}

/// A child process that has the pattern. It lives until the object ends.
class OtherProcess {
 public:
  OtherProcess() {
    auto* shared = static_cast<Told*>(
        mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    int ready[2];
    if (shared == MAP_FAILED || pipe(ready) != 0) throw std::bad_alloc();
    child_ = fork();
    if (child_ == 0) {
      const std::vector<std::byte> data = pattern();
      *shared = {MemoryOwner::self(), reinterpret_cast<RemoteAddress>(data.data())};
      close(ready[1]);
      for (;;) pause();
    }
    close(ready[1]);
    char none = 0;
    while (read(ready[0], &none, 1) > 0) continue;  // ends when the child closes its end
    close(ready[0]);
    owner = shared->owner;
    data = shared->data;
    munmap(shared, sizeof(Told));
  }
  ~OtherProcess() { end(); }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  void end() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }

  MemoryOwner owner;
  RemoteAddress data = 0;

 private:
  struct Told {
    MemoryOwner owner;
    RemoteAddress data;
  };
  pid_t child_ = 0;
};

TEST(OwnersMemory, IsReadInTheSameProcess) {
  const std::vector<std::byte> data = pattern();
  std::vector<std::byte> got(kBytes);
  EXPECT_TRUE(
      read_memory(MemoryOwner::self(), reinterpret_cast<RemoteAddress>(data.data()), got.data(), got.size()));
  EXPECT_EQ(got, data);
}

TEST(OwnersMemory, IsReadInAnotherProcess) {
  const OtherProcess peer;
  std::vector<std::byte> got(kBytes);
  for (size_t at = 0; at < kBytes; at += 2'500)
    ASSERT_TRUE(read_memory(peer.owner, peer.data + at, got.data() + at, 2'500));
  EXPECT_EQ(got, pattern());
}

/// Some of these addresses are such that the kernel would copy slowly.
TEST(OwnersMemory, IsReadToAnyAddress) {
  const OtherProcess peer;
  const std::vector<std::byte> data = pattern();
  std::vector<std::byte> got(kBytes + 8'192);
  const size_t begin =
      (peer.data - reinterpret_cast<RemoteAddress>(got.data())) % 4'096;  // as far in its page
  for (const size_t bytes : {size_t{4'095}, size_t{4'096}, size_t{33'000}, kBytes - 5}) {
    for (const size_t behind : {0, 1, 15, 16, 31, 32, 63, 64, 4'095}) {
      std::ranges::fill(got, std::byte{0xEE});
      std::byte* const to = got.data() + (begin + behind) % 4'096;
      ASSERT_TRUE(read_memory(peer.owner, peer.data + 5, to, bytes));
      ASSERT_TRUE(std::equal(to, to + bytes, data.begin() + 5)) << bytes << " bytes, " << behind << " behind";
      ASSERT_EQ(to[bytes], std::byte{0xEE});
    }
  }
}

TEST(OwnersMemory, IsNotReadWhereNothingIs) {
  const OtherProcess peer;
  std::vector<std::byte> got(kBytes);
  EXPECT_FALSE(read_memory(peer.owner, 64, got.data(), got.size()));
}

TEST(OwnersMemory, IsNotReadInAnotherOne) {
  const OtherProcess peer;
  std::vector<std::byte> got(kBytes);
  MemoryOwner owner = peer.owner;
  owner.token ^= 1;
  EXPECT_FALSE(read_memory(owner, peer.data, got.data(), got.size()));
  owner = peer.owner;
  owner.pid_namespace ^= 1;
  EXPECT_FALSE(read_memory(owner, peer.data, got.data(), got.size()));
}

TEST(OwnersMemory, IsNotReadInADeadProcess) {
  OtherProcess peer;
  peer.end();
  std::vector<std::byte> got(kBytes);
  EXPECT_FALSE(read_memory(peer.owner, peer.data, got.data(), got.size()));
}

}  // namespace
}  // namespace weir
