// SPDX-License-Identifier: Apache-2.0

#include "src/net/peer_process.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

namespace weir {
namespace {

TEST(PeerProcess, IsThatOfTheOtherEnd) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const Socket own(ends[0]);
  const Socket other(ends[1]);
  const auto peer = peer_process(own);
  ASSERT_TRUE(peer.has_value());
  EXPECT_EQ(*peer, (PeerProcess{static_cast<int32_t>(getpid()), geteuid()}));
  EXPECT_THAT(peer_words(own), ::testing::HasSubstr(std::to_string(getpid())));
}

TEST(PeerProcess, IsUnknownOverTcp) {
  const Socket listener = std::move(*Socket::listen(SocketAddress::loopback(AF_INET, 0)));
  const Socket client = std::move(*Socket::connect(*listener.local_address(), Deadline::in_ms(10'000)));
  EXPECT_FALSE(peer_process(client).has_value());
  EXPECT_EQ(peer_words(client), listener.local_address()->text());
  EXPECT_FALSE(peer_process(Socket()).has_value());
}

TEST(PeerProcess, TheUserAndRootAreTrusted) {
  EXPECT_TRUE(is_own_user_or_root(geteuid()));
  EXPECT_TRUE(is_own_user_or_root(0));
  EXPECT_TRUE(is_own_user_or_root(1000, 1000, true));
  EXPECT_FALSE(is_own_user_or_root(1001, 1000, true));
  EXPECT_FALSE(is_own_user_or_root(1000, 0, true)) << "root shows nothing to others";
}

/// In a user namespace that does not know all users, one number stands for all the others.
TEST(PeerProcess, AUserWithoutANumberIsNotTrusted) {
  EXPECT_TRUE(is_own_user_or_root(65534, 65534, true));
  EXPECT_FALSE(is_own_user_or_root(65534, 65534, false));
}

}  // namespace
}  // namespace weir
