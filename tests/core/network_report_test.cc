// SPDX-License-Identifier: Apache-2.0
// What a stall's report says of connections that do not deliver.
#include "src/core/channels/network_report.h"

#include <gmock/gmock.h>

#include <array>
#include <thread>

#include "src/core/diagnosis/watchdog.h"
#include "src/net/connection_state.h"
#include "transports/forwarding.h"
#include "transports/unused_transport.h"

namespace weir::core {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr uint64_t kReportUid = 7;

/// Has the connections of a set, and no channels.
class Connected final : public ForwardingTransport {
 public:
  explicit Connected(const ConnectionSet& connections)
      : ForwardingTransport(make_unused_transport("connected", "")), connections_(connections) {}
  Traits traits() const override { return {.connections = &connections_}; }
  NetCounters counters() const override { return {.dropped = 3, .damaged = 4}; }

 private:
  const ConnectionSet& connections_;
};

TEST(NetworkReport, NamesConnectionsWithDataThatAreNotAcknowledged) {
  ConnectionSet connections;
  std::vector<std::unique_ptr<Transport>> transports;
  transports.push_back(std::make_unique<Connected>(connections));
  Activity activity;
  EXPECT_EQ(activity.network().words, "");
  {
    const NetworkReport report(activity, transports);
    EXPECT_EQ(activity.network().words, "") << "there is no connection";
    const auto listener = Socket::listen(SocketAddress::loopback(AF_INET, 0));
    ASSERT_TRUE(listener.ok());
    const auto socket = Socket::connect(*listener->local_address(), Deadline::in_ms(20'000));
    ASSERT_TRUE(socket.ok());
    connections.watch(*socket);
    EXPECT_EQ(activity.network().words, "") << "nothing was sent";
    const std::array<std::byte, 65536> bytes{};
    while (send(socket->fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
    }
    const NetworkFinding found = activity.network();
    EXPECT_FALSE(found.lost) << "the receiver does not read";
    EXPECT_THAT(found.words, AllOf(StartsWith("on the connection from 127.0.0.1:"),
                                   HasSubstr("bytes are not acknowledged"),
                                   EndsWith("dropped 3 packets and counted 4 errors")));
    connections.forget(*socket);
  }
  EXPECT_EQ(activity.network().words, "");
}

/// Two ranks of this process that wait for each other, and what the first one's watchdog says of it.
class Ring : public ::testing::Test {
 protected:
  Ring() {
    Watchdog::Spec spec;
    spec.uid = kReportUid;
    const auto listener = SocketAddress::loopback(AF_INET, 4711);
    spec.peers = std::make_shared<const std::vector<PeerAddress>>(
        std::vector<PeerAddress>{{listener, 1, 1, "here"}, {listener, 1, 2, "here"}});
    spec.activities = &activities_;
    spec.activity = own_;
    spec.timeouts = {.init_ms = 0, .peer_ms = 100, .stuck_ms = 0, .deadlock_ms = 100};
    watchdog_ = std::make_unique<Watchdog>(std::move(spec));
    for (const auto& activity : {own_, other_})
      activity->begin(1, 0xabc, {.call = OperationSummary::Call::collective, .count = 8});
  }

  std::string sentence() {
    const Deadline deadline = Deadline::in_ms(30'000);
    Status said;
    for (int64_t waited_ns = 0; said.ok() && !deadline.over(); waited_ns += 10 * kNsPerMs) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      other_->wait_for(std::array<Rank, 1>{0}, waited_ns);
      said = watchdog_->examine(1, waited_ns);
    }
    return said.message();
  }

  ActivityRegistry activities_;
  std::shared_ptr<Activity> own_ = activities_.enter(kReportUid, 0),
                            other_ = activities_.enter(kReportUid, 1);
  std::unique_ptr<Watchdog> watchdog_;
};

constexpr const char* kRing = "closes a ring of ranks";
constexpr const char* kLost = "packets vanish, says rank ";

TEST_F(Ring, IsARingWhereTheNetworkIsNotKnown) {
  EXPECT_THAT(sentence(), AllOf(HasSubstr(kRing), Not(HasSubstr("says rank"))));
}

TEST_F(Ring, IsTheResultWhereOwnDataAreLost) {
  own_->tell_network([] { return NetworkFinding{true, "packets vanish"}; });
  EXPECT_THAT(
      sentence(),
      AllOf(StartsWith(std::string(kLost) + "0 (pid 1 on host here)"),
            HasSubstr("; small messages arrive, as the ranks answer; rank 1 (pid 2 on host here) waits "
                      "for rank 0"),
            HasSubstr("WEIR_DEADLOCK_TIMEOUT"), Not(HasSubstr(kRing))));
}

TEST_F(Ring, IsTheResultWhereDataOfTheOtherRankAreLost) {
  own_->tell_network([] { return NetworkFinding{false, "100 bytes are not acknowledged"}; });
  other_->tell_network([] { return NetworkFinding{true, "packets vanish"}; });
  EXPECT_THAT(sentence(),
              AllOf(StartsWith(std::string(kLost) + "1 (pid 2 on host here)"), Not(HasSubstr(kRing))));
}

TEST_F(Ring, IsNotTheNetworksFaultWhereDataAreOnlyUnderWay) {
  other_->tell_network([] { return NetworkFinding{false, "100 bytes are not acknowledged"}; });
  EXPECT_THAT(sentence(),
              AllOf(HasSubstr(kRing), Not(HasSubstr("small messages arrive")),
                    EndsWith("; 100 bytes are not acknowledged, says rank 1 (pid 2 on host here)")));
}

/// As where the kernel of the other rank has given a connection up, and this rank's is reset.
TEST_F(Ring, ABrokenConnectionIsTheResultWhereDataOfTheOtherRankAreLost) {
  other_->tell_network([] { return NetworkFinding{true, "packets vanish"}; });
  EXPECT_THAT(
      watchdog_->explain(1, Status(Code::remote_error, "Connection reset by peer")).message(),
      StartsWith(std::string(kLost) + "1 (pid 2 on host here); the connection of rank 0 (pid 1 on host "
                                      "here) to rank 1 (pid 2 on host here) broke: Connection reset"));
}

TEST_F(Ring, ABrokenConnectionIsNotTheNetworksFaultWhereDataAreOnlyUnderWay) {
  other_->tell_network([] { return NetworkFinding{false, "100 bytes are not acknowledged"}; });
  EXPECT_THAT(
      watchdog_->explain(1, Status(Code::remote_error, "Connection reset by peer")).message(),
      StartsWith("the connection of rank 0 (pid 1 on host here) to rank 1 (pid 2 on host here) broke"));
}

TEST(NetworkReport, TravelsWithTheAnswerOnlyIfItIsAskedFor) {
  ActivityRegistry activities;
  const auto activity = activities.enter(kReportUid, 1);
  activity->tell_network([] { return NetworkFinding{true, "packets vanish"}; });
  const auto ask = [&](bool network) {
    return ActivityRegistry::read_report(
        activities.answer(kReportUid, ActivityRegistry::question(1, 0, network)));
  };
  const auto quiet = ask(false), told = ask(true);
  ASSERT_TRUE(quiet && told);
  EXPECT_FALSE(quiet->network.lost);
  EXPECT_EQ(quiet->network.words, "");
  EXPECT_TRUE(told->network.lost);
  EXPECT_EQ(told->network.words, "packets vanish");
}

}  // namespace
}  // namespace weir::core
