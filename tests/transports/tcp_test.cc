// SPDX-License-Identifier: Apache-2.0

#include "transports/tcp/tcp.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <algorithm>

#include "src/base/host.h"
#include "tests/net/families.h"
#include "tests/transports/conformance.h"
#include "tests/transports/link.h"
#include "tests/transports/tcp_node.h"
#include "transports/address.h"
#include "transports/tcp/channel.h"
#include "transports/tcp/rails.h"

namespace weir::testing {
namespace {

using ::testing::HasSubstr;

/// A node with a listener on each address, "127.0.0.2" or "[::1]".
Node tcp_rails_node(const std::vector<std::string>& hosts, uint32_t streams, Rank rank,
                    const Credentials& credentials = {}) {
  Node node;
  std::vector<SocketAddress> addresses;
  for (const std::string& host : hosts) addresses.push_back(*SocketAddress::parse(host + ":0"));
  auto listener = Listener::open(addresses, {}, nullptr);
  EXPECT_TRUE(listener.ok()) << listener.status().message();
  if (!listener.ok()) return node;
  node.listener = std::move(*listener);
  node.listener->admit(0, credentials);  // the job of test_identity()
  Identity self = test_identity(rank);
  self.credentials = credentials;
  node.transport = make_tcp(self, node.listener.get(), {.streams = streams});
  return node;
}

/// Two rails over loopback.
Node two_rails(uint32_t streams, Rank rank, const Credentials& credentials = {}) {
  if (rank == 0) return tcp_rails_node({"127.0.0.2", "127.0.0.3"}, streams, rank, credentials);
  return tcp_rails_node({"127.0.0.4", "127.0.0.5"}, streams, rank, credentials);
}

std::vector<Setup> tcp_setups() {
  const auto node = [](int family, uint32_t streams, uint64_t credit = 0) {
    return [=](Rank rank) { return tcp_node(family, streams, rank, credit); };
  };
  const auto rails = [](uint32_t streams) { return [=](Rank rank) { return two_rails(streams, rank); }; };
  std::vector<std::string> both = {"127.0.0.2"};
  if (families().size() > 1) both.emplace_back("[::1]");
  const auto encrypted = [](uint32_t streams, uint64_t credit = 0) {
    return [=](Rank rank) { return tcp_node(AF_INET, streams, rank, credit, encrypted_job()); };
  };
  const auto encrypted_rails = [](Rank rank) { return two_rails(3, rank, encrypted_job()); };
  const auto both_families = [=](Rank rank) { return tcp_rails_node(both, 0, rank); };
  return with_faults({{"threads", PeerKind::threads, node(AF_INET, 2), true},
                      {"processes", PeerKind::processes, node(AF_INET, 0), true},
                      {"processes_v6", PeerKind::processes, node(AF_INET6, 1), true},
                      {"processes_7_streams", PeerKind::processes, node(AF_INET, 7), true},
                      {"processes_credit", PeerKind::processes, node(AF_INET, 2, 64 << 10), true},
                      {"threads_scarce_credit", PeerKind::threads, node(AF_INET, 3, 1), true},
                      {"threads_2_rails", PeerKind::threads, rails(3), true},
                      {"processes_2_rails", PeerKind::processes, rails(0), true},
                      {"threads_encrypted", PeerKind::threads, encrypted(2), true},
                      {"processes_encrypted", PeerKind::processes, encrypted(1), true},
                      {"processes_encrypted_credit", PeerKind::processes, encrypted(2, 64 << 10), true},
                      {"processes_encrypted_2_rails", PeerKind::processes, encrypted_rails, true},
                      {"processes_rail_per_family", PeerKind::processes, both_families, true}});
}

INSTANTIATE_TEST_SUITE_P(Tcp, Conformance, ::testing::ValuesIn(tcp_setups()), setup_name);

/// A transport address of tcp for rank 1 of machine `host`, whose listener is at `at`.
Bytes address_at(const std::string& at, uint64_t host) {
  const SocketAddress listener = SocketAddress::parse(at).value();
  ByteWriter address = begin_address("tcp", 5, {1, host});
  address.put(listener).put(uint32_t{0}).put(uint32_t{1});
  tcp::Rail{.name = "eth0", .listener = listener, .network_bits = 8}.put(address);
  return address.take();
}

TEST(Tcp, RefusesALoopbackAddressOfAnotherHost) {
  const Node node = tcp_node(AF_INET, 1, 0);
  EXPECT_THAT(node.transport->reach(address_at("127.0.0.1:99", 1)).why_not, HasSubstr("NCCL_SOCKET_IFNAME"));
  EXPECT_TRUE(node.transport->reach(address_at("127.0.0.1:99", host_identity(""))).ok);
}

TEST(Tcp, RefusesWhereThereIsNoWay) {
  const Node node = tcp_node(AF_INET, 1, 0);
  EXPECT_THAT(node.transport->reach(address_at("255.255.255.255:99", 1)).why_not,
              HasSubstr("255.255.255.255:99"));
}

TEST(Tcp, WithoutAListenerReachesNobody) {
  const auto transport = make_tcp(test_identity(0), nullptr, {});
  EXPECT_TRUE(transport->address().empty());
  EXPECT_THAT(transport->reach(address_at("127.0.0.1:99", test_identity(0).host)).why_not,
              HasSubstr("does not listen"));
}

TEST(Tcp, NamesAListenerThatIsClosed) {
  const Node node = tcp_node(AF_INET, 1, 0);
  uint16_t port = 0;
  { port = tcp_node(AF_INET, 1, 1).listener->address().port(); }
  const Bytes address = address_at("127.0.0.1:" + std::to_string(port), host_identity(""));
  auto sender = node.transport->open_sender(address, {.self = 0, .peer = 1});
  Status trouble = sender.status();
  while (trouble.ok()) trouble = (*sender)->ready().status();
  EXPECT_EQ(trouble.code(), Code::remote_error);
  EXPECT_THAT(trouble.message(), HasSubstr(std::to_string(port)));
}

/// With credit, on one path.
TcpPeer peer_at(const SocketAddress& listener) { return {listener, {{listener, {}, listener.text()}}, true}; }

/// Carries one message between ends of this thread, whose receiver has `credit` for everything.
void carry(uint64_t credit, uint32_t bytes, tcp::Shared& shared) {
  CreditBudget budget(credit);
  const Node from = tcp_node(AF_INET, 1, 0);
  const Node to = tcp_node(AF_INET, 1, 1);
  const auto sender = open_tcp_sender(peer_at(to.listener->address()), 7, 1, {1'000'000'000, 1'000'000'000},
                                      {.self = 0, .peer = 1, .slot_bytes = bytes}, nullptr, shared);
  const auto receiver = open_tcp_receiver(*to.listener, peer_at(from.listener->address()), &budget, 7,
                                          {.self = 1, .peer = 0, .slot_bytes = bytes}, shared);
  await_ready(**sender, **receiver);
  std::fill_n((*sender)->acquire(), bytes, std::byte{1});
  (*sender)->publish(1, bytes);
  eventually("a message",
             [&] { return serve(**sender) && serve(**receiver) && (*receiver)->peek() != nullptr; });
  (*receiver)->release();
  EXPECT_TRUE((*sender)->flushed());
}

TEST(Tcp, CountsWhatItMovedAndWaitedFor) {
  constexpr uint32_t kBytes = 256 << 10;
  tcp::Shared shared;
  carry(16 << 10, kBytes, shared);
  const NetCounters counted = shared.counters.read();
  EXPECT_EQ(counted.sent_bytes, kBytes);
  EXPECT_EQ(counted.received_bytes, kBytes);
  EXPECT_GE(counted.stalls, 1u);
  EXPECT_GT(counted.stalled_ns, 0u);
  EXPECT_GE(counted.grants, (kBytes - (16u << 10)) / (32u << 10)) << "no grant is more than twice the budget";
}

TEST(Tcp, NeedsNoGrantForSmallMessages) {
  tcp::Shared shared;
  carry(16 << 10, CreditBudget::kLeast, shared);
  EXPECT_EQ(shared.counters.read().stalls, 0u);
  EXPECT_EQ(shared.counters.read().sent_messages, 1u);
}

TEST(Tcp, RefusesChannelNumbersItCannotName) {
  const Node node = tcp_node(AF_INET, 1, 0);
  const auto sender =
      node.transport->open_sender(node.transport->address(), {.self = 0, .peer = 0, .channel = 1u << 24});
  EXPECT_EQ(sender.status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace weir::testing
