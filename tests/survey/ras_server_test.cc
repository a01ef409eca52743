// SPDX-License-Identifier: Apache-2.0
// The RAS port with real clients, sockets and processes.
#include "src/survey/ras_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "src/core/communicator/communicator.h"
#include "src/core/communicator/runtime.h"
#include "tests/core/rank.h"
#include "tests/net/other_user.h"

namespace weir::survey {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using weir::testing::Event;
using weir::testing::Processes;
using weir::testing::RootProcess;

constexpr int kRanks = 3;

/// Somebody who asks.
class Client {
 public:
  explicit Client(const SocketAddress& address) {
    auto connected = Socket::connect(address, Deadline::in_ms(20'000));
    EXPECT_TRUE(connected.ok()) << connected.status().message();
    if (connected.ok()) socket_ = std::move(*connected);
  }
  void say(std::string_view text) {
    EXPECT_TRUE(socket_.send_all(std::as_bytes(std::span(text)), Deadline::in_ms(20'000)).ok());
  }
  /// What comes until `end` has come, or the connection is closed.
  std::string hear(std::string_view end = "never") {
    std::string out;
    const Deadline deadline = Deadline::in_ms(60'000);
    std::array<std::byte, 4096> bytes;
    while (out.find(end) == std::string::npos && wait_for(socket_.fd(), POLLIN, deadline)) {
      const auto got = socket_.try_recv(bytes);
      if (!got.ok()) return out + (end == "never" ? "" : "<closed>");
      out.append(reinterpret_cast<const char*>(bytes.data()), *got);
    }
    return out;
  }
  int fd() const { return socket_.fd(); }

 private:
  Socket socket_;
};

std::unique_ptr<RasServer> serve(std::function<core::ProcessReport()> own, double timeout_factor = 1,
                                 std::function<std::vector<ReportAccess>()> access = {}) {
  RasServer::Setup setup;
  setup.address = SocketAddress::loopback(AF_INET, 0);
  setup.own = std::move(own);
  setup.access = std::move(access);
  setup.timeout_factor = timeout_factor;
  auto server = RasServer::start(std::move(setup));
  EXPECT_TRUE(server.ok()) << server.status().message();
  return std::move(*server);
}

core::ProcessReport nothing() {
  core::ProcessReport report;
  report.hostname = "here";
  report.pid = getpid();
  return report;
}

TEST(RasServer, ServesSeveralClientsAtOnceOverIpv6) {
  RasServer::Setup setup;
  setup.address = SocketAddress::loopback(AF_INET6, 0);
  setup.own = nothing;
  std::atomic<int32_t> mask{0};
  setup.set_profiler_mask = [&mask](int32_t kinds) { mask = kinds; };
  auto started = RasServer::start(std::move(setup));
  if (!started.ok()) GTEST_SKIP() << started.status().message();
  const SocketAddress address = (*started)->address();
  Client first(address), second(address), third(address);
  first.say("MONITOR all\n");
  EXPECT_EQ(first.hear("\n"), "OK\n");
  second.say("CLIENT PROTOCOL 2\n");
  third.say("DIAGNOSTICS\n");
  EXPECT_THAT(third.hear(), HasSubstr("across 1 RAS peers\n")) << "while others are in the middle";
  EXPECT_EQ(second.hear("\n"), "SERVER PROTOCOL 2\n");
  second.say("CONTROL PROFILER_MASK coll\n");
  EXPECT_EQ(second.hear("\n"), "OK\n");
  EXPECT_EQ(mask, 2);
  second.say("SET FORMAT json\nSTATUS\n");
  EXPECT_THAT(second.hear(), StartsWith("OK\n{"));
}

TEST(RasServer, AnswersAndCloses) {
  const auto server = serve(nothing);
  Client client(server->address());
  client.say("CLIENT PROTOCOL 2\n");
  EXPECT_EQ(client.hear("\n"), "SERVER PROTOCOL 2\n");
  client.say("SET FORMAT json\nSTATUS\n");
  EXPECT_THAT(client.hear(), AllOf(StartsWith("OK\n{"), HasSubstr("\"communicators_count\": 0")));
}

TEST(RasServer, ManyClientsAtOnceSomeOfThemRude) {
  const auto server = serve(nothing);
  std::vector<std::unique_ptr<Client>> idle;
  for (size_t i = 0; i < RasServer::kMostClients - 1; ++i)
    idle.push_back(std::make_unique<Client>(server->address()));
  Client chatty(server->address());
  chatty.say(std::string(3000, 'x'));
  EXPECT_EQ(chatty.hear(), "") << "is thrown out";
  Client last(server->address());
  last.say("STATUS\n");
  EXPECT_THAT(last.hear(), HasSubstr("Warnings"));
  Client waits(server->address());
  waits.say("TIMEOUT 1\n");
  EXPECT_EQ(waits.hear("\n"), "OK\n");
  Client beyond(server->address());
  beyond.say("STATUS\n");
  idle.clear();  // makes room
  EXPECT_THAT(beyond.hear(), HasSubstr("Warnings"));
}

TEST(RasServer, AClientThatShutsItsSideIsAnsweredStill) {
  const auto server = serve(nothing);
  Client client(server->address());
  client.say("VERBOSE STATUS\n");
  shutdown(client.fd(), SHUT_WR);
  EXPECT_THAT(client.hear(), HasSubstr("Warnings"));
}

TEST(RasServer, AnotherUserGetsASentence) {
  if (!weir::testing::can_be_another_user()) GTEST_SKIP() << "only root can act as another user";
  const auto server = serve(nothing);
  const auto ask = [&] {
    Client client(server->address());
    client.say("STATUS\n");
    return client.hear();
  };
  const int as_expected = weir::testing::as_another_user([&] {
    const std::string heard = ask();
    const bool one_line = heard.find('\n') + 1 == heard.size();
    return one_line && heard.starts_with("ERROR: ") && heard.find("WEIR_REPORTS=all") != heard.npos ? 1 : 0;
  });
  EXPECT_EQ(as_expected, 1);
  EXPECT_THAT(ask(), HasSubstr("Warnings")) << "the own user is answered still";
}

TEST(RasServer, IsNotOpenedWhereReportsAreOff) {
  RasServer::Setup setup;
  setup.address = SocketAddress::loopback(AF_INET, 0);
  setup.own = nothing;
  setup.readers = ReportReaders::nobody;
  const Status status = RasServer::start(std::move(setup)).status();
  EXPECT_EQ(status.code(), Code::invalid_usage);
  EXPECT_THAT(status.message(), HasSubstr("WEIR_REPORTS=off"));
}

TEST(RasServer, AnotherUserIsAnsweredWhereReportsAreForAll) {
  if (!weir::testing::can_be_another_user()) GTEST_SKIP() << "only root can act as another user";
  RasServer::Setup setup;
  setup.address = SocketAddress::loopback(AF_INET, 0);
  setup.own = nothing;
  setup.readers = ReportReaders::everybody;
  const auto server = RasServer::start(std::move(setup));
  ASSERT_TRUE(server.ok()) << server.status().message();
  const int as_expected = weir::testing::as_another_user([&] {
    Client client((*server)->address());
    client.say("STATUS\n");
    return client.hear().find("Warnings") != std::string::npos ? 1 : 0;
  });
  EXPECT_EQ(as_expected, 1);
}

TEST(RasServer, TwoListenAtOneAddress) {
  const auto first = serve(nothing);
  RasServer::Setup setup;
  setup.address = first->address();
  setup.own = nothing;
  const auto second = RasServer::start(std::move(setup));
  ASSERT_TRUE(second.ok()) << second.status().message();
  const auto taken = Socket::listen(first->address());
  EXPECT_FALSE(taken.ok()) << "who does not share it is refused";
}

TEST(RasServer, WithoutDescriptorsClientsWaitAndNobodySpins) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer looks at objects through a pipe, which takes descriptors";
#endif
  const Event asked;
  Processes process(1, [&](int, const Processes::Voice& voice) {
    const auto server = serve(nothing);
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t before = std::exchange(limit.rlim_cur, rlim_t{0});
    const int free = dup(STDIN_FILENO);
    close(free);
    limit.rlim_cur = static_cast<rlim_t>(free);
    setrlimit(RLIMIT_NOFILE, &limit);
    voice.say(server->address().text());
    asked.wait();
    const std::clock_t begun = std::clock();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // real time, in which it would spin
    voice.say(std::clock() - begun < CLOCKS_PER_SEC / 4 ? "rests" : "spins");
    limit.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limit);
    pause();
  });
  const auto address = SocketAddress::parse(process.line(0));
  ASSERT_TRUE(address.ok());
  Client client(*address);
  client.say("STATUS\n");
  asked.happen();
  EXPECT_EQ(process.line(0), "rests");
  EXPECT_THAT(client.hear(), HasSubstr("Warnings"));
}

TEST(RasServer, EndsAtOnceWithClients) {
  auto server = serve(nothing);
  Client client(server->address());
  client.say("TIMEOUT 0\nMONITOR\n");  // no time in which anything were over by itself
  EXPECT_EQ(client.hear("OK\nOK\n"), "OK\nOK\n");
  const int64_t begun = now_ns();
  server.reset();
  EXPECT_LT(now_ns() - begun, 60'000'000'000);
  EXPECT_EQ(client.hear(), "");
}

/// Ranks that wait for the last one after a first sum, each process with a RAS port.
class RasOfAJob : public ::testing::Test {
 protected:
  explicit RasOfAJob(double timeout_factor = 1) : timeout_factor_(timeout_factor) {}
  void SetUp() override {
    Options options;
    options.calibration = false;
    options.peer_timeout_s = 100;  // of the library, which is not to be quicker
    processes_ = std::make_unique<Processes>(kRanks, [&](int rank, const Processes::Voice& voice) {
      core::Runtime runtime(options);
      core::Communicator communicator(runtime, core::IdOrigin{root_.id(), kRanks, rank}, {});
      Status status = communicator.connect();
      if (status.ok()) status = sum(communicator);
      const auto server = serve([&] { return core::report_of(runtime.activities(), runtime.host()); },
                                timeout_factor_, [&] { return runtime.report_access(); });
      voice.say(status.ok() ? server->address().text() : status.message());
      if (rank == kRanks - 1)
        for (;;) pause();
      status = sum(communicator);
      pause();
    });
    for (int rank = 0; rank < kRanks; ++rank) {
      const std::string said = processes_->line(rank);
      const auto address = SocketAddress::parse(said);
      ASSERT_TRUE(address.ok()) << said;
      listeners_.push_back(*address);
    }
  }
  static Status sum(core::Communicator& communicator) {
    float value = 1;
    const core::Operation operation = core::CollectiveOp{.input = &value, .output = &value, .count = 1};
    return communicator.run({&operation, 1});
  }
  /// Asks until the answer has the words.
  std::string until(std::string_view words) {
    std::string out;
    const Deadline deadline = Deadline::in_ms(20'000);
    do {
      Client client(listeners_.front());
      client.say("VERBOSE STATUS\n");
      out = client.hear();
    } while (out.find(words) == std::string::npos && !deadline.over());
    return out;
  }

  const double timeout_factor_;
  const RootProcess root_;
  std::unique_ptr<Processes> processes_;
  std::vector<SocketAddress> listeners_;
};

/// Does not wait for long for answers that do not come.
class RasOfALosingJob : public RasOfAJob {
 protected:
  RasOfALosingJob() : RasOfAJob(0.2) {}
};

TEST_F(RasOfAJob, SaysWhoWaitsForWhom) {
  EXPECT_THAT(until(" WAITING\n  2 ranks wait for rank 2 for "),
              AllOf(HasSubstr("         3         3   RUNNING  MISMATCH\n"),
                    HasSubstr(fmt::format(
                        "  Rank 2 has launched up to operation 1 -- host memory managed by process {} on",
                        processes_->pid(2))),
                    HasSubstr("  2 ranks wait for rank 2 for ")));
}

TEST_F(RasOfALosingJob, AStoppedProcessIsMissingAndAKilledOneDead) {
  Client monitor(listeners_.front());
  monitor.say("MONITOR all\n");
  EXPECT_EQ(monitor.hear("\n"), "OK\n");
  processes_->signal(2, SIGSTOP);
  EXPECT_THAT(
      until("INCOMPLETE\n  Missing communicator data from 1 job process\n"),
      HasSubstr(fmt::format("  Rank 2 -- host memory managed by process {} on node", processes_->pid(2))));
  // On a busy machine others may seem so, too.
  const std::string silent = fmt::format("PEER_UNRESPONSIVE: Process {} on node", processes_->pid(2));
  EXPECT_THAT(monitor.hear(silent), HasSubstr(silent));
  processes_->signal(2, SIGKILL);
  EXPECT_THAT(monitor.hear("PEER_DEAD: "), HasSubstr("PEER_DEAD: "));
  EXPECT_THAT(until("DEAD\n  1 job process is considered dead"), HasSubstr(" INCOMPLETE"));
}

}  // namespace
}  // namespace weir::survey
