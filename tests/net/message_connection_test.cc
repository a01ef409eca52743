// SPDX-License-Identifier: Apache-2.0
// Several messages over one connection: from both ends of the library, and from askers that do what the
// library does not.

#include "src/net/listener/message_connection.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <list>
#include <thread>

#include "src/net/listener/incoming_connection.h"
#include "src/net/listener/listener_wire.h"
#include "tests/net/receive.h"

namespace weir::messages {
namespace {

using listener_wire::Decision;
using listener_wire::Hello;
using listener_wire::HelloKind;
using listener_wire::MessageHeader;
using listener_wire::Opening;
using listener_wire::Verdict;
using Step = IncomingConnection::Step;

constexpr uint64_t kJobKey = 0xfeed'beef;
constexpr DeliveryKey kOwn{kJobKey << 32 | 5, 1, 2, 3};
constexpr DeliveryKey kNext{kJobKey << 32 | 6, 1, 2, 3};  // another communicator of the job
const Secret kJob = Secret::from_text("of the job");

Deadline soon() { return Deadline::in_ms(10'000); }
Bytes bytes_of(std::string_view text) {
  const BytesView raw = std::as_bytes(std::span(text));
  return {raw.begin(), raw.end()};
}
size_t descriptors() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<size_t>(std::distance(Iterator("/proc/self/fd"), Iterator()));
}
bool become(size_t count) {
  for (const Deadline deadline = soon(); !deadline.over(); usleep(1000))
    if (descriptors() == count) return true;
  return false;
}

/// A connection that is admitted for a message of `body` bytes at `listener`.
Socket admitted(const SocketAddress& listener, uint32_t body) {
  Socket socket = std::move(*Socket::connect(listener, soon()));
  std::array<std::byte, Opening::kBytes> opening;
  EXPECT_TRUE(receive_all(socket, opening, soon()).ok());
  Hello hello{HelloKind::message, body, kOwn, {}, {}};
  hello.prove(kJob, Opening::decode(opening)->challenge, listener);
  EXPECT_TRUE(socket.send_all(hello.encode(), soon()).ok());
  std::array<std::byte, Verdict::kBytes> verdict;
  EXPECT_TRUE(receive_all(socket, verdict, soon()).ok());
  EXPECT_EQ(Verdict::decode(verdict)->decision, Decision::admitted);
  return socket;
}

class Messages : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Listener::open(SocketAddress::loopback(AF_INET, 0), nullptr);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    listener_ = std::move(*opened);
    listener_->admit(kJobKey, kJob);
  }
  void say(const Socket& socket, BytesView bytes) { EXPECT_TRUE(socket.send_all(bytes, soon()).ok()); }
  static bool is_closed(const Socket& socket) {
    std::array<std::byte, 1> into;
    const Status status = receive_all(socket, into, soon());
    return status.code() == Code::remote_error && status.message().find("in time") == std::string::npos;
  }
  bool came(const DeliveryKey& key, std::string_view text) {
    const auto message = listener_->receive(key, soon());
    return message && *message == bytes_of(text);
  }

  std::unique_ptr<Listener> listener_;
};

TEST_F(Messages, ManyArriveInOrderOverOneConnection) {
  constexpr uint32_t kMessages = 2000;
  const Socket socket = admitted(listener_->address(), 0);
  Bytes all;
  for (uint32_t i = 1; i < kMessages; ++i) {  // in pieces that end anywhere
    const Bytes header = MessageHeader{sizeof i, kOwn}.encode();
    all.insert(all.end(), header.begin(), header.end());
    const Bytes body = ByteWriter().put(i).take();
    all.insert(all.end(), body.begin(), body.end());
  }
  for (BytesView rest(all); !rest.empty(); rest = rest.subspan(std::min<size_t>(rest.size(), 4999)))
    say(socket, rest.first(std::min<size_t>(rest.size(), 4999)));
  EXPECT_EQ(listener_->receive(kOwn, soon())->size(), 0u);
  for (uint32_t i = 1; i < kMessages; ++i) {
    const auto message = listener_->receive(kOwn, soon());
    ASSERT_TRUE(message);
    ASSERT_EQ(*message, ByteWriter().put(i).take());
  }
}

TEST_F(Messages, AConnectionIsUsedAgainAndEndsWithItsOwner) {
  const size_t before = descriptors();
  {
    MessageConnection connection(listener_->address(), kJob);
    for (int i = 0; i < 2000; ++i) {
      const std::string text = fmt::format("{}", i);
      ASSERT_TRUE(connection.send(i % 2 == 0 ? kOwn : kNext, bytes_of(text), soon()).ok());
      if (i == 0) {
        ASSERT_TRUE(came(kOwn, text));
      }
      ASSERT_LE(descriptors(), before + 2);
    }
    for (int i = 1; i < 2000; ++i) ASSERT_TRUE(came(i % 2 == 0 ? kOwn : kNext, fmt::format("{}", i)));
    const Bytes big(5'000'000, std::byte{42});
    ASSERT_TRUE(connection.send(kOwn, big, soon()).ok());
    ASSERT_TRUE(connection.send(kOwn, {}, soon()).ok());
    EXPECT_EQ(*listener_->receive(kOwn, soon()), big);
    EXPECT_TRUE(came(kOwn, ""));
  }
  EXPECT_TRUE(become(before));
}

TEST_F(Messages, ARankHasOneConnectionForEachListener) {
  auto other = std::move(*Listener::open(SocketAddress::loopback(AF_INET, 0), nullptr));
  other->admit(kJobKey, kJob);
  const size_t before = descriptors();
  MessageConnections connections(kJob);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(connections.send(listener_->address(), kOwn, bytes_of("here"), soon()).ok());
    ASSERT_TRUE(connections.send(other->address(), kOwn, bytes_of("there"), soon()).ok());
    EXPECT_TRUE(came(kOwn, "here"));
    EXPECT_EQ(*other->receive(kOwn, soon()), bytes_of("there"));
    EXPECT_EQ(descriptors(), before + 4);
  }
  connections.close();
  EXPECT_TRUE(become(before));
  EXPECT_TRUE(connections.send(other->address(), kOwn, bytes_of("again"), soon()).ok());
  EXPECT_EQ(*other->receive(kOwn, soon()), bytes_of("again"));
}

/// A child has copies of the descriptors of its parent, which does not keep connections open.
TEST_F(Messages, AForkedChildKeepsNoConnectionOpen) {
  const size_t before = descriptors();
  MessageConnection connection(listener_->address(), kJob);
  ASSERT_TRUE(connection.send(kOwn, bytes_of("before"), soon()).ok());
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  ASSERT_TRUE(connection.send(kOwn, bytes_of("after"), soon()).ok());
  EXPECT_TRUE(came(kOwn, "before"));
  EXPECT_TRUE(came(kOwn, "after"));
  connection.close();
  EXPECT_TRUE(become(before)) << "the listener has not noticed";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(Messages, ALostListenerIsAnErrorOnce) {
  MessageConnection connection(listener_->address(), kJob);
  ASSERT_TRUE(connection.send(kOwn, bytes_of("one"), soon()).ok());
  ASSERT_TRUE(came(kOwn, "one"));
  const SocketAddress address = listener_->address();
  listener_.reset();
  EXPECT_EQ(connection.send(kOwn, bytes_of("lost"), soon()).code(), Code::remote_error);
  listener_ = std::move(*Listener::open(address, nullptr));
  listener_->admit(kJobKey, kJob);
  EXPECT_TRUE(connection.send(kOwn, bytes_of("two"), soon()).ok());
  EXPECT_TRUE(came(kOwn, "two"));
}

/// A listener with very many connections ends some that rest; nobody notices.
TEST_F(Messages, AnEndedConnectionIsOpenedAgain) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  constexpr rlim_t kNeeded = 2 * Listener::kMostAdmitted + 256;
  if (limit.rlim_max < kNeeded) GTEST_SKIP() << "it takes " << kNeeded << " descriptors";
  const rlimit more{std::max(limit.rlim_cur, kNeeded), limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &more), 0);
  const size_t before = descriptors();
  constexpr uint32_t kMore = 10;
  std::list<MessageConnection> connections;
  const auto say_all = [&](uint32_t round) {
    uint32_t number = 0;
    for (MessageConnection& connection : connections) {
      const DeliveryKey key{kOwn.scope, round, static_cast<int32_t>(number++), 0};
      ASSERT_TRUE(connection.send(key, ByteWriter().put(number).take(), soon()).ok());
      if (round > 0) continue;
      ASSERT_TRUE(listener_->receive(key, soon()).has_value());
    }
  };
  for (uint32_t i = 0; i < Listener::kMostAdmitted + kMore; ++i)
    connections.emplace_back(listener_->address(), kJob);
  say_all(0);
  EXPECT_TRUE(become(before + 2 * Listener::kMostAdmitted + kMore));
  say_all(1);
  for (uint32_t i = 0; i < connections.size(); ++i)
    ASSERT_EQ(listener_->receive({kOwn.scope, 1, static_cast<int32_t>(i), 0}, soon()),
              ByteWriter().put(i + 1).take());
  connections.clear();
  EXPECT_TRUE(become(before));
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// A listener without memory resets the connection.
TEST(MessageConnection, ADroppedMessageIsAnErrorOfTheNext) {
  const Socket fake = std::move(*Socket::listen(SocketAddress::loopback(AF_INET, 0)));
  AdmittedJobs jobs;
  jobs.admit(kJobKey, kJob);
  const auto take_one = [&](bool reads) {
    wait_for(fake.fd(), POLLIN, soon());
    IncomingConnection incoming(std::move(**fake.accept()), *fake.local_address(), 0);
    while (incoming.advance(jobs, {}) == Step::waits) wait_for(incoming.socket().fd(), POLLIN, soon());
    if (!reads) wait_for(incoming.socket().fd(), POLLIN, soon());  // closes it with a message unread
    if (reads) incoming.rest();
  };
  MessageConnection connection(*fake.local_address(), kJob);
  std::thread listens([&] { take_one(false); });
  EXPECT_TRUE(connection.send(kOwn, {}, soon()).ok());
  EXPECT_TRUE(connection.send(kOwn, bytes_of("dropped"), soon()).ok());
  listens.join();
  EXPECT_EQ(connection.send(kOwn, bytes_of("not sent"), soon()).code(), Code::remote_error);
  listens = std::thread([&] { take_one(true); });
  EXPECT_TRUE(connection.send(kOwn, {}, soon()).ok());
  listens.join();
  listens = std::thread([&] { take_one(true); });
  EXPECT_TRUE(connection.send(kOwn, bytes_of("over a new connection"), soon()).ok());
  listens.join();
}

/// A message that is given up is not continued by the next one. This listener admits, and reads no further.
TEST(MessageConnection, AMessageThatIsGivenUpEndsItsConnection) {
  const Socket fake = std::move(*Socket::listen(SocketAddress::loopback(AF_INET, 0)));
  AdmittedJobs jobs;
  jobs.admit(kJobKey, kJob);
  std::list<IncomingConnection> came;
  std::atomic<bool> over{false};
  std::thread listens([&] {
    while (!over) {
      if (auto accepted = fake.accept(); accepted->has_value())
        came.emplace_back(std::move(**accepted), *fake.local_address(), 0);
      if (!came.empty() && came.back().is_stranger()) came.back().advance(jobs, {});
      usleep(100);
    }
  });
  MessageConnection connection(*fake.local_address(), kJob);
  std::atomic<bool> abort{false};
  int calls = 0;
  EXPECT_TRUE(connection.send(kOwn, bytes_of("short"), soon()).ok());
  const Bytes big(Listener::kMostBytes);
  const auto meanwhile = [&] {
    abort = ++calls == 2;
    return Status();
  };
  EXPECT_FALSE(connection.send(kOwn, big, Deadline::never(&abort), meanwhile).ok());
  EXPECT_EQ(connection.send(kOwn, Bytes(big.size() + 1), soon()).code(), Code::invalid_argument);
  EXPECT_TRUE(connection.send(kOwn, bytes_of("short"), soon()).ok());
  over = true;
  listens.join();
  ASSERT_EQ(came.size(), 2u);
  Step step = Step::waits;
  for (const Deadline deadline = soon(); step != Step::over && !deadline.over();) {
    step = came.front().advance(jobs, {});
    if (step == Step::complete) came.front().rest();
  }
  EXPECT_EQ(step, Step::over) << "half of a message, and the end of the connection";
}

TEST_F(Messages, AMessageOfAnotherJobEndsTheConnection) {
  listener_->admit(7, Secret::from_text("of another job"));
  const DeliveryKey of_other{uint64_t{7} << 32 | 5, 1, 2, 3};
  const Socket socket = admitted(listener_->address(), 0);
  say(socket, MessageHeader{0, kNext}.encode());
  say(socket, MessageHeader{0, of_other}.encode());
  EXPECT_TRUE(is_closed(socket));
  EXPECT_TRUE(came(kOwn, ""));
  EXPECT_TRUE(came(kNext, ""));
  EXPECT_FALSE(listener_->receive(of_other, Deadline::in_ms(1)).has_value());
}

TEST_F(Messages, OnlyMessagesMayFollow) {
  for (const auto kind : {HelloKind::delivery, HelloKind::question, HelloKind::report, HelloKind{5}}) {
    const Socket socket = admitted(listener_->address(), 0);
    ByteWriter header;
    listener_wire::put_purpose(header, kind, 0, kNext);
    say(socket, header.take());
    EXPECT_TRUE(is_closed(socket)) << static_cast<int>(kind);
  }
  const Socket socket = admitted(listener_->address(), 0);
  say(socket, MessageHeader{Listener::kMostBytes + 1, kNext}.encode());
  EXPECT_TRUE(is_closed(socket)) << "a message that is too long";
  EXPECT_FALSE(listener_->collect(kNext).has_value());
  EXPECT_FALSE(listener_->receive(kNext, Deadline::in_ms(1)).has_value());
}

/// A message that ends in the middle is dropped.
TEST_F(Messages, HalfAMessageIsNone) {
  {
    const Socket socket = admitted(listener_->address(), 0);
    say(socket, MessageHeader{100, kNext}.encode());
    say(socket, Bytes(99));
  }
  EXPECT_TRUE(came(kOwn, ""));
  EXPECT_FALSE(listener_->receive(kNext, Deadline::in_ms(20)).has_value());
}

TEST(IncomingMessages, AHeaderMakesNoRoomForWhatHasNotArrived) {
  const Socket fake = std::move(*Socket::listen(SocketAddress::loopback(AF_INET, 0)));
  AdmittedJobs jobs;
  jobs.admit(kJobKey, kJob);
  Socket asker;
  std::thread asks([&] { asker = admitted(*fake.local_address(), 0); });
  wait_for(fake.fd(), POLLIN, soon());
  IncomingConnection connection(std::move(**fake.accept()), *fake.local_address(), 0);
  while (connection.advance(jobs, {}) == Step::waits) wait_for(connection.socket().fd(), POLLIN, soon());
  asks.join();
  connection.rest();
  EXPECT_TRUE(connection.rests());
  EXPECT_EQ(connection.advance(jobs, {}), Step::waits);
  EXPECT_LE(connection.body().capacity(), MessageHeader::kBytes);
  ASSERT_TRUE(asker.send_all(MessageHeader{Listener::kMostBytes, kNext}.encode(), soon()).ok());
  while (connection.rests()) ASSERT_EQ(connection.advance(jobs, {}), Step::waits);
  EXPECT_LE(connection.body().capacity(), size_t{64} << 10);
  EXPECT_GT(connection.since_ns(), 0) << "the time of the second message";
  ASSERT_TRUE(asker.send_all(Bytes(1000), soon()).ok());
  EXPECT_EQ(connection.advance(jobs, {}), Step::waits);
  EXPECT_LE(connection.body().capacity(), size_t{64} << 10);
  EXPECT_FALSE(connection.rests());
}

}  // namespace
}  // namespace weir::messages
