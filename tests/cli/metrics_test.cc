// SPDX-License-Identifier: Apache-2.0
// weir metrics: what it says of processes, that Prometheus's parser takes it, and how its server treats
// visitors.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <span>

#include "src/net/socket.h"
#include "tests/cli/late_rank.h"
#include "tests/net/receive.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using weir::testing::CommandResult;
using weir::testing::kLate;
using weir::testing::LateRank;
using weir::testing::run_command;
using weir::testing::weir_command;

class Metrics : public LateRank {};

/// The lines that are none of the text exposition format.
std::string wrong_lines(const std::string& text) {
  static const std::regex right(
      R"(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+\{[a-z_]+="([^"\\]|\\.)*"(,[a-z_]+="([^"\\]|\\.)*")*\} [0-9.e+-]+)");
  std::istringstream lines(text);
  std::string wrong;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_match(line, right)) wrong += line + "\n";
  }
  return wrong;
}

TEST_F(Metrics, SayWhoWaitsForWhom) {
  Options options;
  options.transports = "tcp";  // of which channels tell
  start(options);
  const CommandResult found = until("metrics" + pids(), "rank=\"0\",nranks=\"3\",peer=\"2\"} ");
  EXPECT_EQ(found.code, 0);
  EXPECT_EQ(wrong_lines(found.text), "");
  EXPECT_THAT(found.text, AllOf(HasSubstr("rank=\"0\",nranks=\"3\",state=\"waiting\"} 1\n"),
                                HasSubstr("rank=\"2\",nranks=\"3\",state=\"idle\"} 1\n"),
                                HasSubstr("weir_rank_waiting_seconds{"),
                                HasSubstr("rank=\"0\",nranks=\"3\",peer=\"2\"} "),
                                HasSubstr("rank=\"2\",nranks=\"3\",collective=\"all_reduce\"} 1\n"),
                                HasSubstr("transport=\"tcp\",direction=\"sent\"} "),
                                HasSubstr("comm_name=\"layers\""), HasSubstr("weir_rank_last_calls_total{"),
                                HasSubstr("nccl_bus_bandwidth_gbs{"), HasSubstr("n_nodes=\"1\"")));
  const CommandResult parsed = run_command(fmt::format(
      "'{}' metrics{} | /usr/bin/python3 -c 'import sys\n"
      "try:\n  from prometheus_client.parser import text_string_to_metric_families as families\n"
      "except ImportError:\n  sys.exit(77)\n"
      "print(len([family.name for family in families(sys.stdin.read()) if family.samples]))' 2>&1",
      WEIR_PROGRAM, pids()));
  if (parsed.code == 77) GTEST_SKIP() << "Prometheus's parser is not installed (python3-prometheus-client)";
  EXPECT_EQ(parsed.code, 0) << parsed.text;
  EXPECT_EQ(parsed.text, "14\n");
}

TEST_F(Metrics, ADeadProcessIsDownAndAFileIsReplaced) {
  start({});
  const std::string path = folder_ + "/weir.prom";
  std::ofstream(path) << "old";
  processes_->signal(kLate, SIGSTOP);
  EXPECT_EQ(weir_command("metrics -o " + path + pids()).code, 0);
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(wrong_lines(text), "");
  EXPECT_THAT(text, AllOf(HasSubstr(fmt::format("pid=\"{}\"}} 0\n", processes_->pid(kLate))),
                          HasSubstr(fmt::format("pid=\"{}\"}} 1\n", processes_->pid(0)))));
  const CommandResult failed = weir_command("metrics -o /no/such/folder/file");
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.text, HasSubstr("/no/such/folder/file cannot be written: No such file or directory"));
}

/// The server, on any free port.
class MetricsServer : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ends[1], 1);
      execl(WEIR_PROGRAM, WEIR_PROGRAM, "metrics", "--listen", "0", nullptr);
      _exit(127);
    }
    close(ends[1]);
    std::string line;
    for (char c = 0; c != '\n' && read(ends[0], &c, 1) == 1;) line += c;
    close(ends[0]);
    std::smatch found;
    ASSERT_TRUE(std::regex_match(line, found, std::regex("serving metrics at http://(.*)/metrics\n")))
        << line;
    address_ = *SocketAddress::parse(found[1].str());
  }
  void TearDown() override {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  /// What the server says to this until it closes.
  std::string ask(const std::string& request) const {
    const Deadline deadline = Deadline::in_ms(20'000);
    const auto socket = Socket::connect(address_, deadline);
    if (!socket.ok() || !socket->send_all(std::as_bytes(std::span(request)), deadline).ok()) return "no way";
    std::string text;
    for (std::byte one{}; receive_all(*socket, std::span(&one, 1), deadline).ok();)
      text += static_cast<char>(one);
    return text;
  }

  pid_t pid_ = -1;
  SocketAddress address_;
};

TEST_F(MetricsServer, APortAloneIsForTheLoopbackInterface) { EXPECT_TRUE(address_.is_loopback()); }

TEST_F(MetricsServer, AnswersWhoeverAsks) {
  const std::string page = ask("GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_THAT(page, AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("text/plain; version=0.0.4")));
  EXPECT_THAT(ask("GET /metrics?name=x HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(ask("HEAD /metrics HTTP/1.1\r\n\r\n"), EndsWith("\r\n\r\n"));
  EXPECT_THAT(ask("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask("POST /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
}

TEST_F(MetricsServer, OutlivesWhoAsksBadly) {
  EXPECT_THAT(ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask("GET /metrics\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask("GET  HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 4"));
  EXPECT_EQ(ask(std::string(100'000, 'x')), "") << "an endless head";
  { const auto silent = Socket::connect(address_, Deadline::in_ms(20'000)); }  // comes and goes
  EXPECT_THAT(ask("GET /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST(MetricsCommand, SaysWhatIsWrongWithAnAddress) {
  const CommandResult port = weir_command("metrics --listen 70000");
  EXPECT_EQ(port.code, 1);
  EXPECT_THAT(port.text, HasSubstr("is not an address"));
  EXPECT_NE(weir_command("metrics --listen 0 -o file").code, 0);
}

}  // namespace
}  // namespace weir::cli
