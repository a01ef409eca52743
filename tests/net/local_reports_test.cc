// SPDX-License-Identifier: Apache-2.0
// Who gets the reports of a process, over its local socket and over TCP, and what false entries do to
// readers.

#include "src/net/listener/local_reports.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "src/net/listener/listener_wire.h"
#include "src/net/listener/local_owner.h"
#include "tests/net/false_entry.h"
#include "tests/net/other_user.h"
#include "tests/net/receive.h"

namespace weir::local_reports {
namespace {

using listener_wire::Decision;
using listener_wire::Hello;
using listener_wire::HelloKind;
using listener_wire::Opening;
using listener_wire::Verdict;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint32_t kJobKey = 0xfeed'beef;
const Secret kJob = Secret::from_text("of the job");

Deadline soon() { return Deadline::in_ms(20'000); }

std::unique_ptr<Listener> open_for(ReportReaders readers) {
  auto opened = Listener::open(
      SocketAddress::loopback(AF_INET, 0), [](uint64_t, BytesView) { return Bytes(3); }, readers);
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  (*opened)->admit(kJobKey, kJob);
  return std::move(*opened);
}

RegisteredListener entry_of(const Listener& listener) {
  return {static_cast<int32_t>(getpid()), listener.address()};
}

Answer ask_locally(const RegisteredListener& entry, const Deadline& deadline = soon()) {
  const auto owner = owner_of(entry);
  if (!owner) return {};
  const LocalReportSource source{entry, *owner};
  return std::move(weir::ask_locally({&source, 1}, Bytes(1), deadline).front());
}

Answer ask_over_tcp(const Listener& listener, const ReportAccess& access) {
  const ReportSource source{listener.address(), access};
  return std::move(ask_for_reports({&source, 1}, Bytes(1), soon()).front());
}

/// The descriptor of this process that listens under the name of `entry`; -1: none.
int local_descriptor(const RegisteredListener& entry) {
  const std::string name = fmt::format("weir/listener/{}/{}", entry.pid, entry.listener.text());
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_un raw{};
    socklen_t size = sizeof raw;
    int listens = 0;
    socklen_t bytes = sizeof listens;
    if (getsockname(fd, reinterpret_cast<sockaddr*>(&raw), &size) != 0 || raw.sun_family != AF_UNIX) continue;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || listens == 0) continue;
    if (std::string_view(raw.sun_path + 1, size - offsetof(sockaddr_un, sun_path) - 1) == name) return fd;
  }
  return -1;
}

const ReportAccess kProof{kJobKey, report_secret(kJob)};

TEST(LocalReports, TheUserReadsThemAndLearnsWhatOpensThoseOfTheJob) {
  for (const ReportReaders readers : {ReportReaders::user, ReportReaders::everybody}) {
    const auto listener = open_for(readers);
    const Answer answer = ask_locally(entry_of(*listener));
    ASSERT_EQ(answer.kind, Answer::Kind::given) << answer.why;
    EXPECT_THAT(answer.bytes, SizeIs(3));
    ASSERT_THAT(answer.access, SizeIs(1));
    EXPECT_EQ(answer.access[0].job_key, kJobKey);
    EXPECT_EQ(answer.access[0].secret, report_secret(kJob));
    EXPECT_EQ(ask_over_tcp(*listener, answer.access[0]).kind, Answer::Kind::given);
  }
}

TEST(LocalReports, ReachNobodyWhereTheyAreOff) {
  const auto listener = open_for(ReportReaders::nobody);
  const Answer local = ask_locally(entry_of(*listener));
  EXPECT_EQ(local.kind, Answer::Kind::forbidden);
  EXPECT_THAT(local.why, HasSubstr("does not show its reports to this process (WEIR_REPORTS)"));
  EXPECT_THAT(local.access, IsEmpty());
  EXPECT_EQ(ask_over_tcp(*listener, kProof).kind, Answer::Kind::forbidden);
  EXPECT_EQ(ask_over_tcp(*listener, {}).kind, Answer::Kind::forbidden);
}

TEST(LocalReports, ReachOtherUsersOnlyWhereTheyAreForAll) {
  if (!testing::can_be_another_user()) GTEST_SKIP() << "only root can act as another user";
  for (const auto& [readers, expected] : {std::pair(ReportReaders::nobody, Answer::Kind::forbidden),
                                          std::pair(ReportReaders::user, Answer::Kind::forbidden),
                                          std::pair(ReportReaders::everybody, Answer::Kind::given)}) {
    const auto listener = open_for(readers);
    const RegisteredListener entry = entry_of(*listener);
    const auto ask_as_another = [&] {
      const Answer answer = ask_locally(entry);
      return answer.access.empty() ? static_cast<int>(answer.kind) : 99;
    };
    EXPECT_EQ(testing::as_another_user(ask_as_another), static_cast<int>(expected));
  }
}

TEST(LocalReports, OverTcpTheProofDecidesAndNoSecretIsGiven) {
  const auto own = open_for(ReportReaders::user);
  EXPECT_EQ(ask_over_tcp(*own, {}).kind, Answer::Kind::forbidden);
  EXPECT_EQ(ask_over_tcp(*own, {kJobKey, kJob}).kind, Answer::Kind::forbidden)
      << "not the secret for reports";
  EXPECT_EQ(ask_over_tcp(*own, {kJobKey + 1, report_secret(kJob)}).kind, Answer::Kind::forbidden);
  const Answer proven = ask_over_tcp(*own, kProof);
  EXPECT_EQ(proven.kind, Answer::Kind::given) << proven.why;
  EXPECT_THAT(proven.bytes, SizeIs(3));
  EXPECT_THAT(proven.access, IsEmpty());
  const auto open = open_for(ReportReaders::everybody);
  const Answer anybody = ask_over_tcp(*open, {});
  EXPECT_EQ(anybody.kind, Answer::Kind::given) << anybody.why;
  EXPECT_THAT(anybody.access, IsEmpty());
}

/// Whoever knows the secret of the job gets nothing but reports over the local socket, either.
TEST(LocalReports, NothingElseIsServed) {
  const auto listener = open_for(ReportReaders::everybody);
  for (const HelloKind kind : {HelloKind::delivery, HelloKind::message, HelloKind::question}) {
    auto connected = connect_locally(entry_of(*listener));
    ASSERT_TRUE(connected.ok() && connected->has_value());
    const Socket& socket = **connected;
    std::array<std::byte, Opening::kBytes> opening;
    ASSERT_TRUE(receive_all(socket, opening, soon()).ok());
    for (const SocketAddress& address : {SocketAddress(), listener->address()}) {
      Hello hello{kind, 0, {uint64_t{kJobKey} << 32 | 5, 1, 2, 3}, {}, {}};
      hello.prove(kJob, Opening::decode(opening)->challenge, address);
      if (!socket.send_all(hello.encode(), soon()).ok()) continue;
      std::array<std::byte, Verdict::kBytes> verdict;
      if (!receive_all(socket, verdict, soon()).ok()) continue;  // closed after the first one
      EXPECT_EQ(Verdict::decode(verdict)->decision, Decision::refused);
    }
  }
}

/// A child of a fork holds the descriptors of a listener that its parent has closed.
TEST(LocalReports, AClosedListenerIsNotFoundThroughItsChildren) {
  auto listener = open_for(ReportReaders::user);
  const RegisteredListener entry = entry_of(*listener);
  const Socket of_a_child(dup(local_descriptor(entry)));
  ASSERT_TRUE(of_a_child.valid());
  listener.reset();
  EXPECT_FALSE(owner_of(entry).has_value());
}

TEST(LocalReports, ASilentEntryIsGivenUpAtTheDeadline) {
  const RegisteredListener entry{static_cast<int32_t>(getpid()), SocketAddress::loopback(AF_INET, 4716)};
  const Socket silent = testing::listen_as(entry);
  ASSERT_TRUE(silent.valid());
  EXPECT_EQ(ask_locally(entry, Deadline::in_ms(50)).kind, Answer::Kind::silent);
}

/// Says `words` to the first who comes.
class Talker {
 public:
  Talker(const RegisteredListener& entry, Bytes words)
      : socket_(testing::listen_as(entry)), words_(std::move(words)), thread_([this] { talk(); }) {}
  ~Talker() {
    over_ = true;
    thread_.join();
  }

 private:
  void talk() {
    std::vector<Socket> heard;  // stay open
    while (!over_) {
      if (!wait_for(socket_.fd(), POLLIN, Deadline::in_ms(20))) continue;
      auto accepted = socket_.accept();
      if (!accepted.ok() || !accepted->has_value()) continue;
      (void)(*accepted)->try_send(words_);
      heard.push_back(std::move(**accepted));
    }
  }

  Socket socket_;
  const Bytes words_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

TEST(LocalReports, GarbageIsNoReport) {
  const RegisteredListener entry{static_cast<int32_t>(getpid()), SocketAddress::loopback(AF_INET, 4717)};
  const Talker garbage(entry, Bytes(100, std::byte{0x1b}));
  const Answer answer = ask_locally(entry);
  EXPECT_EQ(answer.kind, Answer::Kind::refused);
  EXPECT_THAT(answer.why, HasSubstr("is not the address of a process that uses this version of weir"));
}

/// A false entry that follows the protocol, up to the size of the answer.
TEST(LocalReports, AnAnswerThatIsTooLongOrBrokenIsNone) {
  const RegisteredListener entry{static_cast<int32_t>(getpid()), SocketAddress::loopback(AF_INET, 4718)};
  for (const uint32_t size : {Listener::kMostBytes + 1, uint32_t{8}}) {
    Bytes words = Opening{}.encode();
    for (const Bytes& more :
         {Verdict{Decision::admitted}.encode(), ByteWriter().put(size).put(uint64_t{UINT64_MAX}).take()})
      words.insert(words.end(), more.begin(), more.end());
    const Talker talker(entry, words);
    const Answer answer = ask_locally(entry);
    EXPECT_EQ(answer.kind, Answer::Kind::refused);
    EXPECT_THAT(answer.access, IsEmpty());
    EXPECT_THAT(answer.bytes, IsEmpty());
  }
}

TEST(LocalReports, AnEntryThatHasGotAnotherOwnerIsAskedNothing) {
  const auto listener = open_for(ReportReaders::user);
  const LocalReportSource source{entry_of(*listener), {static_cast<int32_t>(getpid()) + 1, geteuid()}};
  const Answer answer = std::move(weir::ask_locally({&source, 1}, Bytes(1), soon()).front());
  EXPECT_EQ(answer.kind, Answer::Kind::refused);
  EXPECT_THAT(answer.why, HasSubstr("is registered by another process now"));
}

TEST(LocalAnswer, ComesBackFromItsBytes) {
  using listener_wire::LocalAnswer;
  const LocalAnswer answer{{{1, kJob}, {2, report_secret(kJob)}}, Bytes(5)};
  const Bytes bytes = answer.encode();
  const auto read = LocalAnswer::decode(bytes);
  ASSERT_TRUE(read.has_value());
  ASSERT_THAT(read->access, SizeIs(2));
  EXPECT_EQ(read->access[1].job_key, 2u);
  EXPECT_EQ(read->access[1].secret, report_secret(kJob));
  EXPECT_THAT(read->bytes, SizeIs(5));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(LocalAnswer::decode(BytesView(bytes).first(size)).has_value()) << size;
}

}  // namespace
}  // namespace weir::local_reports
