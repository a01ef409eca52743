// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "src/base/clock.h"
#include "src/base/host.h"
#include "tests/transports/both_ends.h"
#include "transports/address.h"
#include "transports/tcp/control.h"
#include "transports/tcp/rails.h"
#include "transports/tcp/tcp.h"
#include "transports/tcp/wire.h"

namespace weir::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::unique_ptr<Listener> listener_at(const std::vector<std::string>& hosts) {
  std::vector<SocketAddress> addresses;
  for (const std::string& host : hosts) addresses.push_back(*SocketAddress::parse(host + ":0"));
  auto listener = Listener::open(addresses, {}, nullptr);
  EXPECT_TRUE(listener.ok()) << listener.status().message();
  (*listener)->admit(0, {});  // the job of test_identity()
  return std::move(*listener);
}

/// The connections of this process whose end here has the address.
std::vector<int> connections_at(const std::string& host) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    sockaddr_storage raw{};
    socklen_t size = sizeof raw;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&raw), &size) != 0) continue;
    size = sizeof raw;
    getsockname(fd, reinterpret_cast<sockaddr*>(&raw), &size);
    const auto local = SocketAddress::from(reinterpret_cast<sockaddr*>(&raw));
    if (local && local->host_text() == host) found.push_back(fd);
  }
  return found;
}

/// Breaks them: what has come and was not read is lost, the other ends are reset.
void reset_connections_at(const std::string& host) {
  for (const int fd : connections_at(host)) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    const sockaddr nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
    connect(fd, &nobody, sizeof nobody);
  }
}

/// Bytes that have come there and were not read.
int unread_at(const std::string& host) {
  int all = 0;
  for (const int fd : connections_at(host)) {
    int unread = 0;
    ioctl(fd, FIONREAD, &unread);
    all += unread;
  }
  return all;
}

/// The channel is from 127.0.0.2 and .3 to 127.0.0.4 and .5; the parameter is the receiver's budget, 0: it
/// has none.
class TcpFailover : public BothEnds, public ::testing::WithParamInterface<uint64_t> {
 protected:
  ~TcpFailover() override {
    close_channel();
    for (Node& node : nodes_) node = Node();
  }
  void open(uint32_t slot_bytes = 4096, uint32_t streams = 0, double timeout_s = 60,
            double first_pause_s = 0) {
    close_channel();
    for (Node& node : nodes_) node = Node();
    nodes_[0].listener = listener_at({"127.0.0.2", "127.0.0.3"});
    nodes_[1].listener = listener_at({"127.0.0.4", "127.0.0.5"});
    for (Rank rank : {0, 1}) {
      nodes_[rank].transport =
          make_tcp(test_identity(rank), nodes_[rank].listener.get(),
                   {.streams = streams,
                    .path_timeout_s = timeout_s,
                    .first_pause_s = first_pause_s,
                    .budget = GetParam() == 0 ? nullptr : &budgets_[static_cast<size_t>(rank)],
                    .budget_for_local_host = true});
    }
    open_channel(4, slot_bytes);
  }

 private:
  CreditBudget budgets_[2] = {CreditBudget(GetParam()), CreditBudget(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Credit, TcpFailover, ::testing::Values(0, 1, 64 << 10),
                         [](const auto& budget) { return std::to_string(budget.param); });

TEST_P(TcpFailover, WhatALostPathSwallowedIsSentAgain) {
  for (const std::string host : {"127.0.0.4", "127.0.0.5"}) {
    open();
    exchange(3, 4096);
    EXPECT_GE(fill_slots(4096), kSlots);
    reset_connections_at(host);
    take_all(4096);
    exchange(20, 4000);
    const NetCounters counted = nodes_[0].transport->counters();
    EXPECT_EQ(counted.given_up, 1u);
    EXPECT_EQ(counted.sent_messages, sent_) << "what was sent again counts once";
    EXPECT_EQ(nodes_[1].transport->counters().received_messages, taken_);
  }
}

TEST_P(TcpFailover, ALongMessageIsUnderWayOnAllPathsAtOnce) {
  open(1u << 20);
  send(*sender_, 0, sent_++, 1u << 20);
  for (const std::string host : {"127.0.0.4", "127.0.0.5"}) {
    eventually("payload", [&] { return unread_at(host) >= int{CreditBudget::kLeast}; });
  }
  take_all(1u << 20);
}

TEST_P(TcpFailover, APathMayBreakAtTheSender) {
  for (const std::string host : {"127.0.0.2", "127.0.0.3"}) {
    open(1u << 20, 6);  // messages longer than what sockets buffer, so that some are halfway
    exchange(2, 1u << 20);
    EXPECT_EQ(fill_slots(1u << 20), kSlots);
    serve(*receiver_);
    reset_connections_at(host);
    take_all(1u << 20);
    exchange(5, 100);
  }
}

TEST_P(TcpFailover, APathMayBreakWhileNothingIsUnderWay) {
  open();
  exchange(1, 10);
  reset_connections_at("127.0.0.5");
  exchange(10, 4096);
}

/// Bytes that one end of the host's connections has sent so far, those of connections that have ended not
/// counted.
uint64_t sent_at(const std::string& host) {
  uint64_t all = 0;
  for (const int fd : connections_at(host)) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) all += info.tcpi_bytes_sent;
  }
  return all;
}

/// Both paths are lost in turn, several times, and used again each time; no byte is wrong.
TEST_P(TcpFailover, APathThatComesBackIsUsedAgain) {
  open(1u << 20, 4, 60, 0.05);
  exchange(2, 1u << 20);
  for (const char* const host : {"127.0.0.2", "127.0.0.3", "127.0.0.3", "127.0.0.2"}) {
    reset_connections_at(host);
    exchange(1, 4096);
    // Two streams and their control connection; a message of this size goes over all streams.
    eventually("both paths", [&] {
      exchange(1, 1u << 20);
      return sent_at(host) > 4u << 20;
    });
  }
  const NetCounters counted = nodes_[0].transport->counters();
  EXPECT_EQ(counted.given_up, 8u);
  EXPECT_EQ(counted.sent_messages, sent_) << "what was sent again counts once";
  EXPECT_EQ(nodes_[1].transport->counters().received_messages, taken_);
}

/// A path that is lost again while it is tried does no harm.
TEST_P(TcpFailover, AnAttemptMayFailAtAnyPoint) {
  open(64 << 10, 4, 60, 0.01);
  for (uint32_t looks = 0; looks < 60; ++looks) {
    reset_connections_at("127.0.0.3");
    for (uint32_t i = 0; i < looks; ++i) {
      fill_slots(64 << 10);
      serve(*sender_);
      serve(*receiver_);
    }
    take_all(64 << 10);
  }
  exchange(20, 4096);
}

/// The peer's kernel answers for it on both paths.
TEST_P(TcpFailover, ASlowReaderIsNoBrokenPath) {
  open(1u << 20, 0, 0.5);  // a busy machine can leave the receiver's kernel no time for a tenth of that
  exchange(1, 1u << 20);
  fill_slots(1u << 20);
  for (const int64_t end = now_ns() + 1'200'000'000; now_ns() < end;) serve(*sender_);
  take_all(1u << 20);
  EXPECT_EQ(nodes_[0].transport->counters().given_up, 0u);
}

TEST_P(TcpFailover, AFlushedMessageHasArrived) {
  open();
  send(*sender_, 0, sent_++, 100);
  for (int look = 0; look < 100; ++look) {
    serve(*sender_);
    EXPECT_FALSE(sender_->flushed()) << "the receiver has not looked yet";
  }
  eventually("flushed", [&] { return serve(*receiver_) && serve(*sender_) && sender_->flushed(); });
  for (const char* host : {"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"}) reset_connections_at(host);
  serve(*sender_);
  serve(*receiver_);
  receive(*receiver_, 0, 0, 100);
}

TEST_P(TcpFailover, WithoutAPathTheSenderNamesThemAll) {
  open();
  exchange(1, 500);
  fill_slots(500);
  for (const char* host : {"127.0.0.4", "127.0.0.5"}) reset_connections_at(host);
  const Status trouble = await_trouble(*sender_, 10000);
  EXPECT_EQ(trouble.code(), Code::remote_error);
  EXPECT_THAT(trouble.message(),
              AllOf(HasSubstr("rank 1 (address 127.0.0.4:"), HasSubstr("channel 4 from rank 0 to rank 1"),
                    HasSubstr("lo (127.0.0.2) to lo (127.0.0.4): "),
                    HasSubstr("lo (127.0.0.3) to lo (127.0.0.5): ")));
  EXPECT_EQ(receiver_->peek(), nullptr);
  EXPECT_THAT(await_trouble(*receiver_, 10000).message(), HasSubstr("rank 0"));
}

TEST_P(TcpFailover, WorksAgainInALaterLifeOfTheChannel) {
  open();
  for (int life = 0; life < 5; ++life) {
    fill_slots(3000);
    if (life % 2 == 0) reset_connections_at("127.0.0.5");
    take_all(3000);
    exchange(2, 3000);
    open_channel(4, 4096);
  }
}

/// The transport address of rank 1 with another address as its second.
Bytes address_with(const Listener& listener, const SocketAddress& second) {
  ByteWriter address = begin_address("tcp", 5, {1, host_identity("")});
  address.put(listener.address()).put(uint32_t{0}).put(uint32_t{2});
  tcp::Rail{.name = "lo", .listener = listener.address(), .network_bits = 8}.put(address);
  tcp::Rail{.name = "lo", .listener = second, .network_bits = 8}.put(address);
  return address.take();
}

TEST_P(TcpFailover, OpensWithoutAPathThatRefuses) {
  open();
  const SocketAddress closed = listener_at({"127.0.0.6"})->address();
  for (uint32_t channel : {4, 5}) {  // which begin with different paths
    open_channel(channel, 4096, address_with(*nodes_[1].listener, closed));
    exchange(5, 4096);
  }
}

TEST_P(TcpFailover, OpensWithoutAPathThatDoesNotAnswer) {
  open(4096, 0, 0.1);
  // Who listens and accepts nothing takes in as many connections as fit into its queue, and no more.
  const Socket deaf(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_storage raw{};
  const socklen_t size = SocketAddress::parse("127.0.0.7:0")->to_raw(raw);
  ASSERT_EQ(bind(deaf.fd(), reinterpret_cast<sockaddr*>(&raw), size), 0);
  ASSERT_EQ(listen(deaf.fd(), 0), 0);
  std::vector<Socket> fillers;
  for (int i = 0; i < 3; ++i) fillers.push_back(std::move(*Socket::start_connect(*deaf.local_address())));
  for (uint32_t channel : {4, 5}) {
    open_channel(channel, 4096, address_with(*nodes_[1].listener, *deaf.local_address()));
    exchange(5, 4096);
  }
}

/// What is asked for by a key of these is not there the first time; all else is, but for attempts to use a
/// path again.
class LateListener final : public Listener {
 public:
  LateListener(std::unique_ptr<Listener> inner, std::set<DeliveryKey> late)
      : inner_(std::move(inner)), late_(std::move(late)) {}
  SocketAddress address() const override { return inner_->address(); }
  const std::vector<SocketAddress>& addresses() const override { return inner_->addresses(); }
  std::optional<PeerSocket> collect(const DeliveryKey& key) override {
    std::optional<PeerSocket> socket;
    if (late_.erase(key) == 0 && key.life % 1000 == 0)
      eventually("a delivery", [&] { return (socket = inner_->collect(key)).has_value(); });
    return socket;
  }
  std::optional<Bytes> receive(const DeliveryKey& key, const Deadline& deadline) override {
    return inner_->receive(key, deadline);
  }
  void put(const DeliveryKey& key, Bytes message) override { inner_->put(key, std::move(message)); }
  void admit(uint32_t job_key, const Credentials& credentials) override {
    inner_->admit(job_key, credentials);
  }
  std::vector<ReportAccess> report_access() const override { return inner_->report_access(); }
  void forget(uint64_t scope, int32_t to) override { inner_->forget(scope, to); }

 private:
  const std::unique_ptr<Listener> inner_;
  std::set<DeliveryKey> late_;
};

/// A sender that a test drives byte by byte, with two streams and two paths.
class TcpDoubles : public ::testing::Test {
 protected:
  static constexpr uint32_t kSlots = 4;
  static constexpr uint32_t kBytes = 1u << 20;  // so long that no more than kSlots messages are kept
  void SetUp() override {
    node_.listener = listener_at({"127.0.0.4", "127.0.0.5"});
    node_.transport = make_tcp(test_identity(1), node_.listener.get(), {});
    listen();
    begin_life(1000);
    await_ready(*receiver_);
  }
  void listen() {
    const auto other = listener_at({"127.0.0.2"});
    const auto peer = make_tcp(test_identity(0), other.get(), {});
    const LinkSpec spec{.self = 1, .peer = 0, .channel = 0, .slots = kSlots, .slot_bytes = kBytes};
    auto receiver = node_.transport->open_receiver(peer->address(), spec);
    ASSERT_TRUE(receiver.ok()) << receiver.status().message();
    receiver_ = std::move(*receiver);
  }
  static DeliveryKey control_key(uint32_t path, int64_t life) {
    return tcp::control_key(test_identity(0).uid, 0, 1, 0, path, life);
  }
  void begin_life(int64_t life, const std::vector<uint32_t>& paths = {0, 1}) {
    for (const uint32_t i : paths) {
      auto stream = deliver(node_.listener->addresses()[i],
                            tcp::delivery_key(test_identity(0).uid, 0, 1, 0, i), {}, Deadline::in_ms(5000));
      ASSERT_TRUE(stream.ok()) << stream.status().message();
      streams_[i] = std::move(*stream);
      const tcp::Greeting greeting{
          .stream = i, .streams = 2, .slots = kSlots, .slot_bytes = kBytes, .paths = 2, .life = life};
      put(i, greeting);
      auto control = deliver(node_.listener->addresses()[i], control_key(i, life), {}, Deadline::in_ms(5000));
      ASSERT_TRUE(control.ok()) << control.status().message();
      controls_[i] = std::move(*control);
    }
  }
  /// What the receiver says next on the control connection of a path.
  uint64_t heard(uint32_t path) {
    tcp::ControlFrame frame;
    const auto got =
        receive_all(controls_[path], std::as_writable_bytes(std::span(&frame, 1)), Deadline::in_ms(5000));
    EXPECT_TRUE(got.ok()) << got.message();
    EXPECT_EQ(frame.kind, tcp::ControlKind::arrived);
    return frame.value;
  }
  template <typename T>
  void put(uint32_t stream, const T& value) {
    write(stream, std::as_bytes(std::span(&value, 1)));
  }
  void write(uint32_t stream, BytesView bytes) {
    while (!bytes.empty()) {
      const auto sent = streams_[stream].try_send(bytes);
      ASSERT_TRUE(sent.ok()) << sent.status().message();
      bytes = bytes.subspan(*sent);
      if (receiver_ != nullptr) serve(*receiver_);
    }
    if (receiver_ == nullptr) return;
    // The receiver's window may not have taken all at once; the next bytes must not overtake these.
    eventually("the arrival of what was written", [&] {
      int under_way = 0;
      return ioctl(streams_[stream].socket().fd(), SIOCOUTQ, &under_way) == 0 && under_way == 0 &&
             serve(*receiver_);
    });
    serve(*receiver_);
  }
  /// So many bytes of the message's frame from `from`, with `value` as payload.
  void begin_message(uint32_t stream, uint64_t sequence, uint32_t bytes, std::byte value, uint32_t now) {
    put(stream, tcp::FrameHeader{.bytes = bytes, .tag = sequence, .sequence = sequence});
    write(stream, Bytes(now, value));
  }
  void go_on(uint32_t stream, uint32_t bytes, std::byte value) { write(stream, Bytes(bytes, value)); }
  /// The next message must be this one.
  void take(uint64_t sequence, uint32_t bytes, std::byte value) {
    const Message* message = nullptr;
    eventually("the message", [&] { return serve(*receiver_) && (message = receiver_->peek()) != nullptr; });
    EXPECT_EQ(message->tag, sequence);
    ASSERT_EQ(message->bytes, bytes);
    for (uint32_t i = 0; i < bytes; ++i) ASSERT_EQ(message->data[i], value) << "byte " << i;
    receiver_->release();
  }
  /// What the receiver says of a frame on stream 0 that cannot be.
  std::string refusal_of(const tcp::FrameHeader& header) {
    EXPECT_TRUE(send_all(streams_[0], std::as_bytes(std::span(&header, 1)), Deadline::in_ms(5000)).ok());
    Status trouble;
    eventually("trouble", [&] { return !(trouble = receiver_->progress()).ok(); });
    return trouble.message();
  }
  void take_nothing() {
    for (int look = 0; look < 100; ++look) {
      serve(*receiver_);
      EXPECT_EQ(receiver_->peek(), nullptr);
    }
  }

  Node node_;
  std::unique_ptr<Receiver> receiver_;
  PeerSocket streams_[2];
  PeerSocket controls_[2];
};

constexpr std::byte kRight{1}, kStale{7};

TEST_F(TcpDoubles, AreDropped) {
  begin_message(0, 0, 5000, kRight, 5000);
  begin_message(1, 0, 5000, kStale, 5000);
  take(0, 5000, kRight);
  begin_message(0, 0, 5000, kStale, 5000);
  begin_message(1, 1, 10, kRight, 10);
  take(1, 10, kRight);
  take_nothing();
}

TEST_F(TcpDoubles, MessagesMayComeInAnyOrderOfTheStreams) {
  begin_message(0, 1, 10, kRight, 10);
  begin_message(0, 3, 30, kRight, 30);
  take_nothing();
  begin_message(0, 0, 5, kRight, 5);  // again, after later ones
  take(0, 5, kRight);
  take(1, 10, kRight);
  take_nothing();
  begin_message(1, 2, 20, kRight, 20);
  take(2, 20, kRight);
  take(3, 30, kRight);
}

TEST_F(TcpDoubles, TheRestOfAMessageThatCameElsewhereDoesNoHarm) {
  begin_message(0, 0, 100000, kStale, 60000);  // stays halfway
  begin_message(1, 0, 100000, kRight, 100000);
  go_on(0, 10000, kStale);
  take(0, 100000, kRight);
  for (uint64_t i = 1; i <= kSlots; ++i) begin_message(1, i, 100000, kRight, 100000);  // all slots
  go_on(0, 30000, kStale);
  for (uint64_t i = 1; i <= kSlots; ++i) take(i, 100000, kRight);
  begin_message(0, kSlots + 1, 10, kRight, 10);  // the stream itself is in order
  take(kSlots + 1, 10, kRight);
}

/// The only look at a message that came early is the one that finds the end ready.
TEST_F(TcpDoubles, WhatCameBeforeTheLinesIsToldWithThem) {
  receiver_.reset();
  node_ = Node();
  node_.listener = std::make_unique<LateListener>(listener_at({"127.0.0.4", "127.0.0.5"}),
                                                  std::set{control_key(0, 2000), control_key(1, 2000)});
  node_.transport = make_tcp(test_identity(1), node_.listener.get(), {});
  begin_life(2000);
  put(0, tcp::FrameHeader{});
  listen();
  await_ready(*receiver_);
  ASSERT_NE(receiver_->peek(), nullptr);
  receiver_->release();
  receiver_.reset();
  for (const uint32_t path : {0, 1}) EXPECT_EQ(heard(path), tcp::Acknowledgement{.first = 1}.code());
}

TEST_F(TcpDoubles, AnEndLeavesTheLinesOfTheNextLifeToTheNextEnd) {
  receiver_.reset();
  listen();
  begin_life(2000, {0});
  const tcp::ControlFrame gone{.kind = tcp::ControlKind::gone, .value = tcp::Attempt{.index = 1}.code()};
  ASSERT_TRUE(send_all(controls_[0], std::as_bytes(std::span(&gone, 1)), Deadline::in_ms(5000)).ok());
  await_ready(*receiver_);
  begin_message(0, 0, 10, kRight, 10);
  take(0, 10, kRight);
  controls_[0].close();
  begin_life(3000);
  for (int look = 0; look < 1000; ++look) serve(*receiver_);
  receiver_.reset();
  listen();
  await_ready(*receiver_);
  begin_message(1, 0, 10, kRight, 10);
  take(0, 10, kRight);
}

/// A frame with one of four parts of a message of 1001 bytes: 251, 251, 251, 248.
constexpr uint32_t kOdd = 1001;
tcp::FrameHeader quarter(uint64_t sequence, uint8_t part) {
  return {.part = part, .parts = 4, .bytes = kOdd, .tag = sequence, .sequence = sequence};
}

TEST_F(TcpDoubles, PartsMayComeInAnyOrderAndTwice) {
  const auto bring = [&](uint32_t stream, uint8_t part, std::byte value) {
    put(stream, quarter(0, part));
    write(stream, Bytes(part < 3 ? 251 : 248, value));
  };
  bring(1, 3, kRight);
  bring(0, 0, kRight);
  bring(1, 0, kStale);
  put(0, quarter(0, 2));
  write(0, Bytes(100, kStale));  // its stream will be slower than another that brings the part again
  bring(1, 2, kRight);
  take_nothing();
  begin_message(1, 1, 10, kRight, 10);
  take_nothing();
  write(0, Bytes(151, kStale));
  bring(0, 1, kRight);
  take(0, kOdd, kRight);
  take(1, 10, kRight);
  bring(1, 1, kStale);
  take_nothing();
}

TEST_F(TcpDoubles, PartsThatDoNotFitTogetherAreRefused) {
  put(1, quarter(2, 0));
  take_nothing();
  tcp::FrameHeader other = quarter(2, 1);
  other.parts = 3;
  EXPECT_THAT(refusal_of(other), HasSubstr("1001 bytes in 4 parts and again with 1001 bytes in 3 parts"));
}

TEST_F(TcpDoubles, APartBeyondTheLastIsRefused) {
  EXPECT_THAT(refusal_of(quarter(0, 4)), HasSubstr("message 0 of 1001 bytes"));
}

TEST_F(TcpDoubles, NumbersFarAheadAreRefused) {
  EXPECT_THAT(refusal_of({.bytes = 1, .tag = 0, .sequence = 1000}), HasSubstr("message 1000"));
}

}  // namespace
}  // namespace weir::testing
