// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/listener.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "src/net/listener/inquiry.h"
#include "src/net/listener/listener_wire.h"
#include "src/net/listener/message_connection.h"
#include "src/net/listener/outgoing_connection.h"
#include "tests/net/families.h"
#include "tests/net/receive.h"

namespace {
std::atomic<time_t> skipped_s{0};
}

/// The clocks of this program, which a test can advance instead of waiting. Sanitizers read clocks before the
/// program begins; with them the test waits.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto failed = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  if (failed == 0) now->tv_sec += skipped_s.load(std::memory_order_relaxed);
  return failed;
}
#endif

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Bytes to_bytes(std::string_view text) {
  const auto* raw = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(raw, raw + text.size());
}
std::string to_text(BytesView bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

const Secret kSecret = Secret::from_text("of the job whose key is 0");

/// A listener that answers "<scope>:<question>" and admits the job with the key 0.
std::unique_ptr<Listener> open_listener(int family = AF_INET) {
  auto listener = Listener::open(SocketAddress::loopback(family, 0), [](uint64_t scope, BytesView question) {
    return to_bytes(fmt::format("{}:{}", scope, to_text(question)));
  });
  EXPECT_TRUE(listener.ok()) << listener.status().message();
  (*listener)->admit(0, kSecret);
  return std::move(*listener);
}

Deadline soon() { return Deadline::in_ms(10'000); }
constexpr DeliveryKey kKey{7, 1, 2, 3};

PeerSocket collect(Listener& listener, const DeliveryKey& key) {
  for (const Deadline deadline = soon(); !deadline.over();) {
    if (auto socket = listener.collect(key)) return std::move(*socket);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

TEST(Listener, KeepsADeliveryUntilItIsCollected) {
  for (const int family : testing::families()) {
    const auto listener = open_listener(family);
    auto sent = deliver(listener->address(), kKey, kSecret, soon());
    ASSERT_TRUE(sent.ok()) << sent.status().message();
    ASSERT_TRUE(send_all(*sent, to_bytes("data that comes right behind"), soon()).ok());
    PeerSocket got = collect(*listener, kKey);
    ASSERT_TRUE(got.valid());
    Bytes into(28);
    ASSERT_TRUE(receive_all(got, into, soon()).ok());
    EXPECT_EQ(to_text(into), "data that comes right behind");
    EXPECT_FALSE(listener->collect(kKey).has_value());
  }
}

TEST(Listener, KeepsMessagesInOrderAndApartByKey) {
  const auto listener = open_listener();
  const Bytes big(5'000'000, std::byte{42});
  ASSERT_TRUE(post(listener->address(), kKey, kSecret, to_bytes("first"), soon()).ok());
  EXPECT_EQ(to_text(*listener->receive(kKey, soon())), "first");
  listener->put(kKey, to_bytes("second"));
  listener->put(kKey, to_bytes("third"));
  const DeliveryKey other{7, 1, 2, 4};
  ASSERT_TRUE(post(listener->address(), other, kSecret, big, soon()).ok());
  ASSERT_TRUE(post(listener->address(), {7, 2, 2, 3}, kSecret, {}, soon()).ok());
  EXPECT_EQ(*listener->receive(other, soon()), big);
  EXPECT_EQ(to_text(*listener->receive(kKey, soon())), "second");
  EXPECT_EQ(to_text(*listener->receive(kKey, soon())), "third");
  EXPECT_EQ(listener->receive({7, 2, 2, 3}, soon())->size(), 0u);
  EXPECT_FALSE(listener->receive(kKey, Deadline::in_ms(1)).has_value());
}

TEST(Listener, AReceiverMayComeFirst) {
  const auto listener = open_listener();
  std::thread receiver([&] { EXPECT_EQ(to_text(*listener->receive(kKey, soon())), "late"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_TRUE(post(listener->address(), kKey, kSecret, to_bytes("late"), soon()).ok());
  receiver.join();
}

TEST(Listener, AReceiverCanBeAborted) {
  const auto listener = open_listener();
  std::atomic<bool> abort{false};
  std::thread receiver([&] { EXPECT_FALSE(listener->receive(kKey, Deadline::never(&abort)).has_value()); });
  abort = true;
  receiver.join();
}

TEST(Listener, ForgetsARankForGood) {
  const auto listener = open_listener();
  listener->put(kKey, to_bytes("dropped"));
  listener->put({7, 1, 2, 4}, to_bytes("kept"));
  listener->forget(7, 3);
  listener->put(kKey, to_bytes("too late"));
  EXPECT_FALSE(listener->receive(kKey, Deadline::in_ms(1)).has_value());
  EXPECT_EQ(to_text(*listener->receive({7, 1, 2, 4}, soon())), "kept");
}

TEST(Listener, KeepsABoundedNumberOfThings) {
  const auto listener = open_listener();
  for (size_t i = 0; i <= Listener::kMostKept; ++i) listener->put({1, static_cast<uint32_t>(i), 0, 0}, {});
  EXPECT_FALSE(listener->receive({1, 0, 0, 0}, Deadline::in_ms(1)).has_value());
  EXPECT_TRUE(listener->receive({1, 1, 0, 0}, Deadline::in_ms(1)).has_value());
}

TEST(Listener, AnswersQuestions) {
  const auto listener = open_listener(testing::families().back());
  Answer answer = ask(listener->address(), 99, kSecret, to_bytes("how are you"), soon());
  EXPECT_EQ(answer.kind, Answer::Kind::given) << answer.why;
  EXPECT_EQ(to_text(answer.bytes), "99:how are you");
  const std::string big(3'000'000, 'x');
  answer = ask(listener->address(), 1, kSecret, to_bytes(big), soon());
  EXPECT_EQ(answer.bytes.size(), big.size() + 2);
}

TEST(Listener, AnEmptyAnswerIsAnAnswer) {
  auto listener =
      Listener::open(SocketAddress::loopback(AF_INET, 0), [](uint64_t, BytesView) { return Bytes(); });
  (*listener)->admit(0, kSecret);
  EXPECT_EQ(ask((*listener)->address(), 1, kSecret, {}, soon()).kind, Answer::Kind::given);
}

TEST(Listener, ManyAreAskedAtOnce) {
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<SocketAddress> addresses;
  for (int i = 0; i < 20; ++i) addresses.push_back(listeners.emplace_back(open_listener())->address());
  listeners[5].reset();
  const auto answers = ask_all(addresses, 3, kSecret, to_bytes("?"), soon());
  ASSERT_EQ(answers.size(), 20u);
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].kind, i == 5 ? Answer::Kind::refused : Answer::Kind::given) << i << answers[i].why;
  }
}

TEST(Listener, AHeldInquiryConnectsButDoesNotAsk) {
  std::atomic<int> asked{0};
  auto listener = Listener::open(SocketAddress::loopback(AF_INET, 0), [&](uint64_t scope, BytesView) {
    asked += scope == 1;  // others of this host may ask for reports
    return to_bytes("yes");
  });
  (*listener)->admit(0, kSecret);
  Inquiry inquiry((*listener)->address(), 1, kSecret, to_bytes("?"));
  inquiry.hold();
  for (const Deadline deadline = soon(); !inquiry.advance() && !deadline.over();)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_FALSE(inquiry.done());
  // The listener has read all that came before this question.
  EXPECT_EQ(ask((*listener)->address(), 1, kSecret, {}, soon()).kind, Answer::Kind::given);
  EXPECT_EQ(asked, 1);
  inquiry.release();
  for (const Deadline deadline = soon(); !inquiry.advance() && !deadline.over();)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(to_text(inquiry.take().bytes), "yes");
  EXPECT_EQ(asked, 2);
}

/// The answer to a question to a listener in another process that was sent signal `number`.
Answer::Kind ask_a_process_after(int number) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    auto listener =
        Listener::open(SocketAddress::loopback(AF_INET, 0), [](uint64_t, BytesView) { return Bytes(1); });
    (*listener)->admit(0, kSecret);
    const SocketAddress address = (*listener)->address();
    if (write(ends[1], &address, sizeof address) == sizeof address) pause();
    _exit(0);
  }
  SocketAddress address;
  EXPECT_EQ(read(ends[0], &address, sizeof address), static_cast<ssize_t>(sizeof address));
  if (number != 0) kill(pid, number);
  if (number == SIGKILL) waitpid(pid, nullptr, 0);
  int state = 0;
  if (number == SIGSTOP) waitpid(pid, &state, WUNTRACED);
  const Answer answer = ask(address, 1, kSecret, {}, number == SIGSTOP ? Deadline::in_ms(100) : soon());
  if (number != SIGKILL) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  close(ends[0]);
  close(ends[1]);
  return answer.kind;
}

TEST(Listener, TellsLivingDeadAndStoppedProcessesApart) {
  EXPECT_EQ(ask_a_process_after(0), Answer::Kind::given);
  EXPECT_EQ(ask_a_process_after(SIGKILL), Answer::Kind::refused);
  EXPECT_EQ(ask_a_process_after(SIGSTOP), Answer::Kind::silent);
}

TEST(Listener, WorksForManyAtOnceAndLeavesNothing) {
  const auto count = [] {
    using Iterator = std::filesystem::directory_iterator;
    return std::distance(Iterator("/proc/self/fd"), Iterator());
  };
  const auto before = count();
  {
    const auto listener = open_listener();
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 100; ++i) {
          const DeliveryKey key{5, static_cast<uint32_t>(i), t, t};
          EXPECT_TRUE(
              post(listener->address(), key, kSecret, to_bytes(fmt::format("{}/{}", t, i)), soon()).ok());
          EXPECT_EQ(to_text(*listener->receive(key, soon())), fmt::format("{}/{}", t, i));
          EXPECT_EQ(ask(listener->address(), 1, kSecret, to_bytes("x"), soon()).kind, Answer::Kind::given);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    auto uncollected = deliver(listener->address(), kKey, kSecret, soon());
  }
  EXPECT_EQ(count(), before);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Waits of the C++ library take the skipped time in addition, unless they are woken: no time stays skipped.
struct SkippedTime {
  ~SkippedTime() { skipped_s = 0; }
};

TEST(Listener, AConnectionMayRestBetweenTwoMessagesButNotWithinOne) {
  const SkippedTime until_the_end;
  const auto listener = open_listener();
  MessageConnection connection(listener->address(), kSecret);
  ASSERT_TRUE(connection.send(kKey, to_bytes("one"), soon()).ok());
  EXPECT_EQ(to_text(*listener->receive(kKey, soon())), "one");
  skipped_s += 30;
  ASSERT_EQ(ask(listener->address(), 1, kSecret, {}, soon()).kind, Answer::Kind::given);
  ASSERT_TRUE(connection.send(kKey, to_bytes("two"), soon()).ok());
  EXPECT_EQ(to_text(*listener->receive(kKey, soon())), "two");

  OutgoingConnection opening(OutgoingConnection::to(listener->address()),
                             {listener_wire::HelloKind::message, kKey, kSecret, 0});
  PeerSocket slow = std::move(*await_admission(opening, listener->address(), soon(), {}));
  ASSERT_TRUE(send_all(slow, listener_wire::MessageHeader{100, kKey}.encode(), soon()).ok());
  EXPECT_EQ(listener->receive(kKey, soon())->size(), 0u);
  ASSERT_EQ(ask(listener->address(), 1, kSecret, {}, soon()).kind, Answer::Kind::given);
  skipped_s += 21;
  std::array<std::byte, 1> nothing;
  const Status status = receive_all(slow, nothing, Deadline::in_ms(60'000));
  EXPECT_THAT(status.message(), Not(HasSubstr("in time")));
  EXPECT_EQ(status.code(), Code::remote_error);
}
#endif

TEST(Listener, APortInUseIsNamed) {
  const auto listener = open_listener();
  EXPECT_THAT(Listener::open(listener->address(), nullptr).status().message(), HasSubstr("already used"));
}

}  // namespace
}  // namespace weir
