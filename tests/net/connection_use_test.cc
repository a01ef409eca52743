// SPDX-License-Identifier: Apache-2.0

#include "src/net/connection_use.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <vector>

#include "src/base/clock.h"
#include "src/net/connection_state.h"
#include "src/net/socket.h"

namespace weir {
namespace {

/// Two ends of a connection.
struct CarryingPair {
  CarryingPair() {
    auto listener = Socket::listen(SocketAddress::loopback(AF_INET, 0));
    auto opened = Socket::connect(*listener->local_address(), Deadline::in_ms(5000));
    near = std::move(*opened);
    while (!far.valid()) {
      auto accepted = listener->accept();
      if (accepted.ok() && accepted->has_value()) far = std::move(**accepted);
    }
  }
  /// Sends so many bytes and takes them.
  void carry(size_t bytes) {
    std::vector<char> buffer(64 << 10);
    for (size_t sent = 0, taken = 0; taken < bytes;) {
      if (sent < bytes) {
        const ssize_t more =
            send(near.fd(), buffer.data(), std::min(buffer.size(), bytes - sent), MSG_DONTWAIT);
        if (more > 0) sent += static_cast<size_t>(more);
      }
      const ssize_t more = recv(far.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (more > 0) taken += static_cast<size_t>(more);
    }
  }
  Socket near, far;
};

TEST(ConnectionUse, WhatWasCarriedIsCounted) {
  CarryingPair pair;
  const auto before = connection_use(pair.near.fd());
  if (!before) GTEST_SKIP() << "this kernel does not tell it";
  pair.carry(10 << 20);
  const Deadline deadline = Deadline::in_ms(10'000);  // the last acknowledgement may be on its way
  auto after = connection_use(pair.near.fd());
  while (after->acknowledged_bytes - before->acknowledged_bytes < 10U << 20 && !deadline.over())
    after = connection_use(pair.near.fd());
  EXPECT_EQ(after->acknowledged_bytes - before->acknowledged_bytes, 10U << 20);
  EXPECT_GE(after->busy_us, before->busy_us);
}

/// A receiver that takes nothing: the sender waits, and its connection is not at work.
TEST(ConnectionUse, WaitingForTheReceiverIsNoWork) {
  CarryingPair pair;
  if (!connection_use(pair.near.fd())) GTEST_SKIP() << "this kernel does not tell it";
  std::vector<char> buffer(1 << 20);
  while (send(pair.near.fd(), buffer.data(), buffer.size(), MSG_DONTWAIT) > 0) {
  }
  const int64_t begin = now_ns();
  while (now_ns() - begin < 500'000'000) {
  }
  EXPECT_LT(connection_use(pair.near.fd())->busy_us, 400'000U);
}

TEST(ConnectionUse, ASetTellsWhoIsAtTheOtherEnd) {
  CarryingPair first, second;
  ConnectionSet set;
  set.watch(first.near, 3);
  set.watch(second.near);
  const auto both = set.use();
  if (both.empty()) GTEST_SKIP() << "this kernel does not tell it";
  ASSERT_EQ(both.size(), 2U);
  EXPECT_NE(both[0].connection, both[1].connection);
  set.forget(second.near);
  const auto one = set.use();
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].peer, 3);
  set.forget(first.near);
  set.watch(first.near, 4);
  EXPECT_NE(set.use()[0].connection, one[0].connection) << "a new life";
  set.forget(first.near);
}

TEST(ConnectionUse, WhatIsNoConnectionIsNotCounted) { EXPECT_FALSE(connection_use(-1)); }

}  // namespace
}  // namespace weir
