// SPDX-License-Identifier: Apache-2.0

#include "src/net/socket_events.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>

#include <array>

namespace weir {
namespace {

/// Number of sockets with events since the last call. Over loopback, bytes have arrived when a send returns.
int events_of(const SocketEvents& events) {
  std::array<epoll_event, 8> seen;
  return epoll_wait(events.fd(), seen.data(), seen.size(), 0);
}

class SocketEventsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto listener = Socket::listen(SocketAddress::loopback(AF_INET, 0));
    ASSERT_TRUE(listener.ok()) << listener.status().message();
    auto connected = Socket::connect(*listener->local_address(), Deadline::in_ms(5000));
    ASSERT_TRUE(connected.ok()) << connected.status().message();
    here_ = std::move(*connected);
    ASSERT_TRUE(wait_for(listener->fd(), POLLIN, Deadline::in_ms(5000)));
    there_ = std::move(**listener->accept());
    events_.watch(there_);
    EXPECT_EQ(events_of(events_), 1) << "it can be written";
  }

  const SocketEvents events_;
  Socket here_, there_;
};

TEST_F(SocketEventsTest, BytesThatStayUnreadAreOneEvent) {
  const std::array<std::byte, 3> bytes{};
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(here_.try_send(bytes).ok());
    EXPECT_EQ(events_of(events_), 1);
    EXPECT_EQ(events_of(events_), 0);
  }
}

TEST_F(SocketEventsTest, RoomInAFullBufferIsAnEvent) {
  std::array<std::byte, 65536> bytes{};
  size_t sent = 0;
  for (Result<size_t> some = there_.try_send(bytes); some.ok() && *some > 0; some = there_.try_send(bytes))
    sent += *some;
  EXPECT_EQ(events_of(events_), 0);
  while (sent > 0) {
    if (const Result<size_t> some = here_.try_recv(bytes); some.ok()) sent -= *some;
  }
  EXPECT_TRUE(wait_for(events_.fd(), POLLIN, Deadline::in_ms(5000)));
}

TEST_F(SocketEventsTest, TheEndOfAPeerIsAnEvent) {
  here_.close();
  EXPECT_TRUE(wait_for(events_.fd(), POLLIN, Deadline::in_ms(5000)));
}

TEST_F(SocketEventsTest, AClosedSocketIsNoLongerWatched) {
  ASSERT_TRUE(here_.try_send(std::array<std::byte, 1>{}).ok());
  there_.close();
  EXPECT_EQ(events_of(events_), 0);
}

}  // namespace
}  // namespace weir
