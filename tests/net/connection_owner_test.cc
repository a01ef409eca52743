// SPDX-License-Identifier: Apache-2.0

#include "src/net/connection_owner.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <string>

#include "tests/net/families.h"
#include "tests/net/other_user.h"

namespace weir {
namespace {

constexpr const char* kHead =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

std::string row(const std::string& ends, int state, int user, int inode) {
  return "   0: " + ends + " 0" + std::to_string(state) + " 00000000:00000000 00:00000000 00000000  " +
         std::to_string(user) + "        0 " + std::to_string(inode) + " 1 0000000000000000 20 4 30 10 -1\n";
}

SocketAddress at(std::string_view text) { return *SocketAddress::parse_numeric(text); }

TEST(ConnectionOwner, IsThatOfTheRowWithBothEnds) {
  const std::string table = kHead + row("0100007F:9C40 0100007F:6D7C", 1, 1000, 77) +
                            row("0100007F:6D7C 0100007F:9C40", 1, 1001, 78) +
                            row("0100007F:6D7C 00000000:0000", 1, 1002, 79);
  EXPECT_EQ(connection_owner(table, at("127.0.0.1:40000"), at("127.0.0.1:28028")), 1000u);
  EXPECT_EQ(connection_owner(table, at("127.0.0.1:28028"), at("127.0.0.1:40000")), 1001u);
  EXPECT_FALSE(connection_owner(table, at("127.0.0.1:40001"), at("127.0.0.1:28028")).has_value());
  EXPECT_FALSE(connection_owner(table, at("127.0.0.2:40000"), at("127.0.0.1:28028")).has_value());
  EXPECT_FALSE(connection_owner("", at("127.0.0.1:40000"), at("127.0.0.1:28028")).has_value());
}

TEST(ConnectionOwner, IsFoundForIPv6) {
  const std::string local = "00000000000000000000000001000000";
  const std::string table = kHead + row(local + ":9C40 " + local + ":6D7C", 1, 1000, 77);
  EXPECT_EQ(connection_owner(table, at("[::1]:40000"), at("[::1]:28028")), 1000u);
  EXPECT_FALSE(connection_owner(table, at("127.0.0.1:40000"), at("127.0.0.1:28028")).has_value());
}

/// A program may reach an IPv4 address over an IPv6 socket.
TEST(ConnectionOwner, IsFoundForIPv4InIPv6) {
  const std::string mapped = "0000000000000000FFFF00000100007F";
  const std::string table = kHead + row(mapped + ":9C40 " + mapped + ":6D7C", 1, 1000, 77);
  EXPECT_EQ(connection_owner(table, at("127.0.0.1:40000"), at("127.0.0.1:28028")), 1000u);
  EXPECT_EQ(connection_owner(table, at("[::ffff:127.0.0.1]:40000"), at("127.0.0.1:28028")), 1000u);
}

/// The kernel lists what nobody has any more as root's.
TEST(ConnectionOwner, IsNobodyForAClosedSocket) {
  const std::string table = kHead + row("0100007F:9C40 0100007F:6D7C", 6, 0, 0);
  EXPECT_FALSE(connection_owner(table, at("127.0.0.1:40000"), at("127.0.0.1:28028")).has_value());
}

TEST(ConnectionOwner, IsNotFoundInBrokenRows) {
  for (const char* line :
       {"\n\n", "0: x y z\n", "0: 0100007F:9C40 0100007F:6D7C 01\n",
        "0: 0100007F:9C40 0100007F:6D7C 1 2 3 4 -5 6 7\n", "0: 0100007F: 0100007F:6D7C 1 2 3 4 5 6 7\n"})
    EXPECT_FALSE(connection_owner(line, at("127.0.0.1:40000"), at("127.0.0.1:28028")).has_value()) << line;
}

struct Pair {
  Socket client;
  Socket server;
};

Pair connected(int family) {
  const Socket listener = std::move(*Socket::listen(SocketAddress::loopback(family, 0)));
  Pair out;
  out.client = std::move(*Socket::connect(*listener.local_address(), Deadline::in_ms(10'000)));
  wait_for(listener.fd(), POLLIN, Deadline::in_ms(10'000));
  out.server = std::move(**listener.accept());
  return out;
}

TEST(ConnectionOwner, IsTheUserOfTheProgramThatConnected) {
  for (const int family : testing::families()) {
    Pair pair = connected(family);
    EXPECT_EQ(connection_owner(pair.server), geteuid());
    pair.client.close();
    EXPECT_FALSE(connection_owner(pair.server).has_value()) << "nobody reads any more";
  }
  EXPECT_FALSE(connection_owner(Socket()).has_value());
}

TEST(ConnectionOwner, IsAnotherUserWhereThatOneConnected) {
  if (!testing::can_be_another_user()) GTEST_SKIP() << "only root can act as another user";
  for (const int family : testing::families()) {
    const int matches = testing::as_another_user([&] {
      const Pair pair = connected(family);
      return connection_owner(pair.server) == testing::kOtherUser ? 1 : 0;
    });
    EXPECT_EQ(matches, 1);
  }
}

}  // namespace
}  // namespace weir
