// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/local_owner.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/net/false_entry.h"

namespace weir {
namespace {

int32_t own_pid() { return static_cast<int32_t>(getpid()); }

TEST(LocalOwner, IsTheProcessThatHasRegistered) {
  const RegisteredListener entry{own_pid(), SocketAddress::loopback(AF_INET, 4712)};
  EXPECT_FALSE(owner_of(entry).has_value());
  const auto socket = register_locally(entry.listener);
  ASSERT_TRUE(socket.ok()) << socket.status().message();
  const auto owner = owner_of(entry);
  ASSERT_TRUE(owner.has_value());
  EXPECT_EQ(*owner, (PeerProcess{own_pid(), geteuid()}));
  EXPECT_TRUE(is_own_entry(entry, *owner));
}

TEST(LocalOwner, WhoTakesTheNumberOfAnotherIsFound) {
  const RegisteredListener entry{static_cast<int32_t>(getppid()), SocketAddress::loopback(AF_INET, 4713)};
  const Socket socket = testing::listen_as(entry);
  ASSERT_TRUE(socket.valid());
  const auto owner = owner_of(entry);
  ASSERT_TRUE(owner.has_value());
  EXPECT_EQ(owner->pid, own_pid());
  EXPECT_FALSE(is_own_entry(entry, *owner));
}

TEST(LocalOwner, WhoseNumberCannotBeSeenIsBelieved) {
  EXPECT_TRUE(is_own_entry({7, {}}, {.pid = 0, .uid = 0}));
  EXPECT_FALSE(is_own_entry({7, {}}, {.pid = INT32_MAX, .uid = 0})) << "there is no such process";
}

/// The number in a container differs from the one that its host sees.
TEST(LocalOwner, AProcessOfAnInnerPidNamespaceOwnsItsEntry) {
  const SocketAddress listener = SocketAddress::loopback(AF_INET, 4714);
  int ready[2];
  int over[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(over), 0);
  const pid_t outer = fork();
  if (outer == 0) {
    if (unshare(CLONE_NEWPID) != 0) _exit(77);
    const pid_t inner = fork();
    if (inner == 0) {
      close(over[1]);
      const auto socket = register_locally(listener);
      char byte = socket.ok() ? 'y' : 'n';
      if (write(ready[1], &byte, 1) != 1) _exit(1);
      (void)!read(over[0], &byte, 1);  // ends with the test
      _exit(0);
    }
    close(ready[1]);
    close(over[1]);
    waitpid(inner, nullptr, 0);
    _exit(0);
  }
  close(ready[1]);
  char said = '-';
  const bool heard = read(ready[0], &said, 1) == 1;
  const RegisteredListener entry{1, listener};
  const auto owner = owner_of(entry);
  const bool is_own = owner && is_own_entry(entry, *owner);
  close(over[1]);
  int status = 0;
  if (!heard) {
    waitpid(outer, &status, 0);
    GTEST_SKIP() << "this process may not make a pid namespace";
  }
  EXPECT_EQ(said, 'y');
  ASSERT_TRUE(owner.has_value());
  EXPECT_GT(owner->pid, 1);
  EXPECT_TRUE(is_own);
  waitpid(outer, &status, 0);
  for (const int fd : {ready[0], over[0]}) close(fd);
}

TEST(LocalOwner, TheInnermostNumberIsTheLastOfItsLine) {
  EXPECT_EQ(innermost_pid("Name:\tx\nPid:\t4711\nNSpid:\t4711\t7\nThreads:\t1\n"), 7);
  EXPECT_EQ(innermost_pid("NSpid:\t4711\n"), 4711);
  for (const char* text : {"", "NSpid:\n", "NSpid:\tx\n", "Name:\tNSpid:\t5\n"})
    EXPECT_EQ(innermost_pid(text), 0) << text;
}

}  // namespace
}  // namespace weir
