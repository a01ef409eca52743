// SPDX-License-Identifier: Apache-2.0
// Which reports a survey gets from processes of this and of another user, and from those that lie.

#include "src/survey/survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "src/base/host.h"
#include "src/net/listener/listener.h"
#include "tests/core/processes.h"
#include "tests/net/false_entry.h"
#include "tests/net/other_user.h"
#include "tests/survey/reports.h"

namespace weir::survey {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using weir::testing::kOtherUser;
using weir::testing::Processes;

enum class As : uint8_t { self, another_user };

/// A process that calls `body`, says "ready" and stays.
std::unique_ptr<Processes> process_that(As user, const std::function<void()>& body) {
  auto out = std::make_unique<Processes>(1, [&](int, const Processes::Voice& voice) {
    const bool ready = user == As::self || weir::testing::become_another_user();
    if (ready) body();
    voice.say(ready ? "ready" : "cannot take another user");
    for (;;) pause();
  });
  EXPECT_EQ(out->line(0), "ready");
  return out;
}

std::unique_ptr<Processes> process_with(ReportReaders readers, As user = As::self) {
  return process_that(user, [readers] {
    static core::ActivityRegistry activities;
    static std::unique_ptr<Listener> listener;
    const auto answer = [](uint64_t, BytesView question) {
      return core::answer_report_question(activities, 1, question);
    };
    listener = std::move(*Listener::open(SocketAddress::loopback(AF_INET, 0), answer, readers));
  });
}

/// A process that answers questions for reports by `text`.
std::unique_ptr<Processes> process_that_says(const std::string& text) {
  return process_that(As::self, [&] {
    static std::unique_ptr<Listener> listener;
    const auto* const raw = reinterpret_cast<const std::byte*>(text.data());
    const Bytes bytes(raw, raw + text.size());
    const auto answer = [bytes](uint64_t, BytesView) { return bytes; };
    listener = std::move(*Listener::open(SocketAddress::loopback(AF_INET, 0), answer));
  });
}

std::vector<QueriedProcess> survey_of(pid_t pid, int64_t timeout_ms = 20'000) {
  SurveyRequest request;
  request.pids = {static_cast<int32_t>(pid)};
  request.timeout_ms = timeout_ms;
  return take(request);
}

TEST(Survey, TheUserGetsReports) {
  for (const ReportReaders readers : {ReportReaders::user, ReportReaders::everybody}) {
    const auto process = process_with(readers);
    const auto found = survey_of(process->pid(0));
    ASSERT_THAT(found, SizeIs(1));
    ASSERT_TRUE(found[0].report.has_value()) << found[0].why_not;
    EXPECT_EQ(found[0].report->pid, process->pid(0));
    EXPECT_FALSE(found[0].user.has_value()) << "it is the own one";
  }
}

TEST(Survey, NobodyGetsThemWhereTheyAreOff) {
  const auto process = process_with(ReportReaders::nobody);
  const auto found = survey_of(process->pid(0));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_FALSE(found[0].report.has_value());
  EXPECT_EQ(found[0].report_state, ReportState::off);
  EXPECT_FALSE(found[0].dead);
  EXPECT_THAT(found[0].why_not, HasSubstr("WEIR_REPORTS=off"));
}

TEST(Survey, RootGetsThoseOfOthersAndLearnsWhoTheyAre) {
  if (!weir::testing::can_be_another_user()) GTEST_SKIP() << "only root can act as another user";
  const auto process = process_with(ReportReaders::user, As::another_user);
  const auto found = survey_of(process->pid(0));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_TRUE(found[0].report.has_value()) << found[0].why_not;
  EXPECT_EQ(found[0].user, kOtherUser);
}

TEST(Survey, AnotherUserGetsThemOnlyWhereTheyAreForAll) {
  if (!weir::testing::can_be_another_user()) GTEST_SKIP() << "only root can act as another user";
  for (const ReportReaders readers : {ReportReaders::nobody, ReportReaders::user, ReportReaders::everybody}) {
    const auto process = process_with(readers);
    const int seen = weir::testing::as_another_user([&] {
      const auto found = survey_of(process->pid(0));
      if (found.size() != 1 || found[0].user != 0u) return 99;
      return found[0].report ? 50 : static_cast<int>(found[0].report_state);
    });
    EXPECT_EQ(seen, readers == ReportReaders::everybody ? 50 : static_cast<int>(ReportState::for_its_user));
  }
}

TEST(Survey, ASilentEntryIsNotWaitedForLong) {
  const auto silent = [] {
    static Socket socket;
    socket = weir::testing::listen_as({static_cast<int32_t>(getpid()), SocketAddress::loopback(AF_INET, 9)});
  };
  const auto own = process_that(As::self, silent);
  auto found = survey_of(own->pid(0), 50);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].why_not, HasSubstr("has not answered"));
  if (!weir::testing::can_be_another_user()) return;
  const auto other = process_that(As::another_user, silent);
  found = survey_of(other->pid(0), 50);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].why_not, HasSubstr("has not answered"));
  EXPECT_EQ(found[0].user, kOtherUser);
}

TEST(Survey, WhoTakesTheNumberOfAnotherIsNotTakenForIt) {
  const auto victim = static_cast<int32_t>(getpid());
  const auto liar = process_that(As::self, [victim] {
    static Socket socket;
    socket = weir::testing::listen_as({victim, SocketAddress::loopback(AF_INET, 9)});
  });
  const auto found = survey_of(victim);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].report_state, ReportState::under_false_name);
  EXPECT_EQ(found[0].pid, liar->pid(0));
  EXPECT_FALSE(found[0].report.has_value());
}

TEST(Survey, WordsOfLiarsAreHarmless) {
  const auto garbage = process_that_says("\x1b[2J\x1b]0;all is well\a");
  const auto found = survey_of(garbage->pid(0));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_FALSE(found[0].report.has_value());
  EXPECT_THAT(found[0].why_not, Not(AnyOf(IsEmpty(), HasSubstr("\x1b"), HasSubstr("\a"))));
  core::ProcessReport report;
  report.pid = static_cast<int32_t>(getpid());
  report.program = "\x1b[2J";
  const auto another = process_that_says(core::to_json(report));
  const auto lied = survey_of(another->pid(0));
  ASSERT_THAT(lied, SizeIs(1));
  EXPECT_FALSE(lied[0].report.has_value()) << "it is the report of another process";
}

/// Each report of the liar names one more process, which is to be asked at the liar's own address.
TEST(Survey, ALiarDoesNotKeepItGoing) {
  if (!weir::testing::can_be_another_user()) GTEST_SKIP() << "only root can act as another user";
  const auto liar = process_that(As::another_user, [] {
    static std::unique_ptr<Listener> listener;
    static int32_t named = getpid();
    static std::promise<SocketAddress> opened;
    const auto answer = [address = opened.get_future().share()](uint64_t, BytesView) {
      core::ProcessReport report;
      report.hostname = short_hostname();
      report.pid = named++;
      core::CommunicatorReport& communicator = report.communicators.emplace_back();
      communicator.id = weir::testing::kId;
      communicator.ranks = 1;
      communicator.members = {{address.get(), 0, named, report.hostname, {}}};
      const std::string text = core::to_json(report);
      const auto* const raw = reinterpret_cast<const std::byte*>(text.data());
      return Bytes(raw, raw + text.size());
    };
    listener =
        std::move(*Listener::open(SocketAddress::loopback(AF_INET, 0), answer, ReportReaders::everybody));
    opened.set_value(listener->address());
  });
  const auto found = survey_of(liar->pid(0));
  EXPECT_THAT(found, AllOf(Not(IsEmpty()), Contains(Field(&QueriedProcess::pid, liar->pid(0)))));
  EXPECT_LE(found.size(), 3u) << "the liar, and those that it named in two rounds";
}

/// Another user may claim to have ranks of any communicator.
TEST(Survey, UsersAreKeptApart) {
  std::vector<QueriedProcess> asked = {weir::testing::process_of(1, 1)};
  weir::testing::join(asked, weir::testing::kId, {1});
  QueriedProcess liar = asked[0];
  liar.user = 1000;
  liar.report->communicators[0].name = "false";
  asked.push_back(liar);
  const auto views = by_communicator(asked);
  ASSERT_THAT(views, SizeIs(2));
  EXPECT_FALSE(views[0].user.has_value());
  EXPECT_NE(views[0].name, "false");
  EXPECT_EQ(views[1].user, 1000u);
}

}  // namespace
}  // namespace weir::survey
