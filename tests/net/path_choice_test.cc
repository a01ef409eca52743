// SPDX-License-Identifier: Apache-2.0
// Paths of connections. Answers of routers are tested in a network of namespaces (tests/netlab).
#include "src/net/path_choice.h"

#include <gmock/gmock.h>
#include <poll.h>

#include <thread>

#include "tests/net/families.h"

namespace weir {
namespace {

using ::testing::ElementsAre;

SocketAddress router(int number) { return *SocketAddress::parse("10.0.0." + std::to_string(number) + ":0"); }
const PathUses::Ends kPeer{std::nullopt, *SocketAddress::parse("10.1.1.1:80")};
const PathUses::Ends kOther{std::nullopt, *SocketAddress::parse("10.1.1.2:80")};

std::vector<uint16_t> taken(PathUses& uses, const PathUses::Ends& ends, uint32_t first, int times, bool any) {
  std::vector<uint16_t> ports;
  for (int i = 0; i < times; ++i) {
    const auto port = uses.take(ends, first, any);
    ports.push_back(port ? port->number : uint16_t{0});
  }
  return ports;
}

TEST(PathUses, TakeTurns) {
  PathUses uses;
  const PathUses::Port ports[] = {{10, router(2)}, {11, router(1)}, {12, router(2)}, {13, router(3)}};
  uses.learn(kPeer, ports);
  EXPECT_THAT(taken(uses, kPeer, 1, 3, false), ElementsAre(10, 13, 11)) << "from the second router on";
  EXPECT_THAT(taken(uses, kPeer, 1, 2, false), ElementsAre(12, 0)) << "the next one has no port left";
}

TEST(PathUses, CountOverAllPeers) {
  PathUses uses;
  const PathUses::Port ports[] = {{10, router(1)}, {11, router(2)}};
  uses.learn(kPeer, ports);
  uses.learn(kOther, ports);
  EXPECT_THAT(taken(uses, kPeer, 0, 1, false), ElementsAre(10));
  EXPECT_THAT(taken(uses, kOther, 0, 1, false), ElementsAre(11));
}

TEST(PathUses, AnyPortIsBetterThanNone) {
  PathUses uses;
  const PathUses::Port ports[] = {{10, router(1)}, {11, router(2)}, {12, router(2)}};
  uses.learn(kPeer, ports);
  EXPECT_THAT(taken(uses, kPeer, 0, 4, true), ElementsAre(10, 11, 12, 0));
}

TEST(PathUses, RememberSilence) {
  PathUses uses;
  EXPECT_FALSE(uses.given_up(kPeer));
  uses.give_up(kPeer);
  EXPECT_TRUE(uses.given_up(kPeer));
  EXPECT_FALSE(uses.given_up(kOther));
}

Result<Socket> choose(PathUses& uses, const PathUses::Ends& ends) {
  PathChoice choice(uses, ends, 0);
  const Deadline deadline = Deadline::in_ms(5000);
  for (;;) {
    auto socket = choice.advance();
    WEIR_TRY(socket.status());
    if (socket->has_value()) return std::move(**socket);
    if (deadline.over()) return Status(Code::internal_error, "nothing was chosen");
    std::this_thread::yield();
  }
}

class PathChoices : public ::testing::TestWithParam<int> {};

TEST_P(PathChoices, NearPeersAreJustConnectedTo) {
  const auto listener = Socket::listen(SocketAddress::loopback(GetParam(), 0));
  ASSERT_TRUE(listener.ok());
  PathUses uses;
  const PathUses::Ends ends{SocketAddress::loopback(GetParam(), 0), *listener->local_address()};
  for (int i = 0; i < 2; ++i) {
    const auto socket = choose(uses, ends);
    ASSERT_TRUE(socket.ok()) << socket.status().message();
    EXPECT_TRUE(wait_for(socket->fd(), POLLOUT, Deadline::in_ms(5000)));
    EXPECT_TRUE(*socket->connected());
    EXPECT_TRUE(uses.given_up(ends)) << "there is nothing to choose";
  }
}

TEST_P(PathChoices, NobodyThereIsAnError) {
  const auto reserved = Socket::bound(SocketAddress::loopback(GetParam(), 0));
  ASSERT_TRUE(reserved.ok());
  PathUses uses;
  const auto socket = choose(uses, {std::nullopt, *reserved->local_address()});
  EXPECT_EQ(socket.status().code(), Code::remote_error);
}

INSTANTIATE_TEST_SUITE_P(Families, PathChoices, ::testing::ValuesIn(testing::families()));

}  // namespace
}  // namespace weir
