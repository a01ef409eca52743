// SPDX-License-Identifier: Apache-2.0
// The protocol of the RAS port, line by line.
#include "src/survey/ras_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/survey/reports.h"

namespace weir::survey {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using weir::testing::process_of;
using weir::testing::without_answer;

TEST(RasSession, AnswersEachCommandInAnyCase) {
  RasSession session;
  EXPECT_EQ(session.take("CLIENT PROTOCOL 2\n"), "SERVER PROTOCOL 2\n");
  EXPECT_EQ(session.take("client protocol 7\r\n"), "SERVER PROTOCOL 2\n");
  EXPECT_EQ(session.timeout_ms(), 5000);
  EXPECT_EQ(session.take("Timeout 1.5\n"), "OK\n");
  EXPECT_EQ(session.timeout_ms(), 1500);
  EXPECT_EQ(session.take("TIMEOUT 0\n"), "OK\n");
  EXPECT_EQ(session.timeout_ms(), 3'600'000) << "as good as never";
  EXPECT_EQ(session.take("set format JSON\n"), "OK\n");
  EXPECT_FALSE(session.wants_report());
  EXPECT_EQ(session.take("status\n"), "");
  EXPECT_TRUE(session.wants_report());
  EXPECT_THAT(session.report({}, {}), StartsWith("{"));
}

TEST(RasSession, WhatIsWrongIsSaidAndChangesNothing) {
  RasSession session;
  for (const char* wrong : {"-1", "x", "1x", "inf", "nan", "1e999", ""})
    EXPECT_EQ(session.take(fmt::format("TIMEOUT {}\n", wrong)),
              fmt::format("ERROR: Invalid timeout value {}\n", wrong));
  EXPECT_EQ(session.timeout_ms(), 5000);
  EXPECT_EQ(session.take("SET FORMAT xml\n"), "ERROR: Invalid format xml\n");
  EXPECT_EQ(session.take("MONITOR trace,weather\n"), "ERROR: Invalid event group 'weather'\n");
  EXPECT_FALSE(session.monitors());
  EXPECT_EQ(session.take("monitors\n"), "ERROR: Unknown command monitors\n");
  EXPECT_EQ(session.take("\n"), "ERROR: Unknown command \n");
  EXPECT_EQ(session.take("TIMEOUT\n"), "ERROR: Unknown command TIMEOUT\n");
  EXPECT_THAT(session.report({}, {}), StartsWith("NCCL version 2.28.9"));
}

TEST(RasSession, MonitorsAsNcclrasAsksItTo) {
  for (const char* const groups : {"all", "=all", "lifecycle,trace"}) {  // -m=all is sent with the sign
    RasSession session;
    EXPECT_EQ(session.take(fmt::format("MONITOR {}\n", groups)), "OK\n");
    const Job before = job_of({process_of(1, 1)}, 0);
    const Job after = job_of({without_answer(process_of(1, 1), false), process_of(1, 2)}, 0);
    EXPECT_THAT(session.events(changes(before, after)),
                AllOf(HasSubstr("PEER_UNRESPONSIVE"), HasSubstr("PEER_NEW")));
  }
}

TEST(RasSession, ControlsTheMaskOfProfilers) {
  RasSession session;
  for (const auto& [value, mask] : {std::pair{"none", 0}, std::pair{"ALL", 0x7fff}, std::pair{"0x12", 0x12},
                                    std::pair{"7", 7}, std::pair{"coll,P2P,proxystep", 2 + 4 + 16}}) {
    EXPECT_EQ(session.take(fmt::format("control  profiler_mask {}\n", value)), "OK\n");
    EXPECT_EQ(session.take_profiler_mask(), mask) << value;
    EXPECT_EQ(session.take_profiler_mask(), std::nullopt) << "once";
  }
  for (const char* const wrong : {"5x", "coll,weather", "-1", "99999999999", ""}) {
    EXPECT_EQ(session.take(fmt::format("CONTROL PROFILER_MASK {}\n", wrong)),
              fmt::format("ERROR: Invalid profiler mask value '{}'\n", wrong));
    EXPECT_EQ(session.take_profiler_mask(), std::nullopt);
  }
  EXPECT_EQ(session.take("CONTROL WEATHER 1\n"), "ERROR: Unknown CONTROL subcommand 'WEATHER 1'\n");
  RasSession stranger(false);
  EXPECT_THAT(stranger.take("CONTROL PROFILER_MASK all\n"),
              StartsWith("ERROR: CONTROL is not for everybody"));
  EXPECT_EQ(stranger.take_profiler_mask(), std::nullopt);
}

TEST(RasSession, Diagnoses) {
  std::vector<QueriedProcess> asked = {process_of(1, 1), process_of(1, 2), process_of(2, 3)};
  for (QueriedProcess& one : asked) one.report->version = "0.2";
  weir::testing::join(asked, weir::testing::kId, {4, 4, 4});
  RasSession session;
  EXPECT_EQ(session.take("Diagnostics\n"), "");
  EXPECT_TRUE(session.wants_report());
  EXPECT_THAT(session.report(job_of(asked, 0.5), {}),
              AllOf(HasSubstr(" NCCL DIAG === RAS Diagnostics ===\n"),
                    HasSubstr(" NCCL DIAG OK processes: 3 processes answer\n"),
                    HasSubstr(" NCCL DIAG OK versions: all have weir 0.2\n"),
                    HasSubstr(" NCCL DIAG OK communicators: 1 without a failure\n"),
                    HasSubstr(" NCCL DIAG OK calls: "), HasSubstr(" NCCL DIAG OK waits: "),
                    HasSubstr(" NCCL DIAG OK set-up: "),
                    EndsWith(" NCCL DIAG RAS diagnostics completed in 500.0 ms across 3 RAS peers\n")));
  asked[0].report->version = "0.1";
  core::CommunicatorReport& failed = asked[0].report->communicators[0];
  failed.code = Code::remote_error;
  failed.sentence = "rank 2 is dead";
  core::CommunicatorReport& waiting = asked[1].report->communicators[0];
  waiting.counts[static_cast<size_t>(Collective::all_reduce)].begun = 5;
  waiting.state = core::RankState::waiting;
  waiting.waiting_for = {2};
  waiting.waiting_ns = 2'000'000'000;
  asked[2] = without_answer(asked[2], true);
  EXPECT_THAT(
      session.report(job_of(asked, 0.5), {}),
      AllOf(HasSubstr("WARN processes: Process 3 on node 10.0.0.2 is dead\n"),
            HasSubstr("WARN versions: 1 process (Process 1 on node 10.0.0.1) have weir 0.1; 1 process"),
            HasSubstr("WARN communicators: rank 0 of 00000000000000aa: rank 2 is dead\n"),
            HasSubstr("WARN calls: AllReduce of 00000000000000aa: rank 0 has begun 4, rank 1 5\n"),
            HasSubstr("WARN waits: rank 1 of 00000000000000aa has waited for rank 2 for 2.0 s (")));
}

TEST(RasSession, DiagnosesInTextOnly) {
  RasSession session;
  EXPECT_EQ(session.take("SET FORMAT json\nDIAGNOSTICS\nSTATUS\n"),
            "OK\nERROR: diagnostics only supports text output\n");
  EXPECT_TRUE(session.wants_report()) << "which ends the session";
  EXPECT_EQ(session.report({}, {}), "");
}

TEST(RasSession, LinesComeInAnyPieces) {
  RasSession session;
  EXPECT_EQ(session.take("CLIENT PROTO"), "");
  EXPECT_EQ(session.take("COL 2\nTIMEOUT 3\nVERB"), "SERVER PROTOCOL 2\nOK\n");
  EXPECT_FALSE(session.wants_report());
  EXPECT_EQ(session.take("OSE STATUS\nTIMEOUT 4\n"), "") << "nothing is read after the request";
  EXPECT_TRUE(session.wants_report());
  EXPECT_EQ(session.timeout_ms(), 3000);
}

TEST(RasSession, ALineWithoutAnEndEndsTheTalk) {
  RasSession session;
  session.take(std::string(RasSession::kLongestLine, 'x'));
  EXPECT_FALSE(session.broken());
  session.take("x");
  EXPECT_TRUE(session.broken());
  EXPECT_EQ(session.take("\nSTATUS\n"), "");
  EXPECT_FALSE(session.wants_report());
}

TEST(RasSession, TellsTheChangesThatWereAskedFor) {
  const Job before = job_of({process_of(1, 1), process_of(1, 2)}, 0);
  const Job after = job_of(
      {without_answer(process_of(1, 1), true), without_answer(process_of(1, 2), false), process_of(1, 3)}, 0);
  const std::vector<RasEvent> events = changes(before, after);
  RasSession session;
  EXPECT_EQ(session.events(events), "") << "it did not ask";
  EXPECT_EQ(session.take("MONITOR\n"), "OK\n");
  EXPECT_TRUE(session.monitors());
  EXPECT_THAT(session.events(events), AllOf(HasSubstr("] PEER_DEAD: Process 1 on node 10.0.0.1\n["),
                                            EndsWith("] PEER_NEW: Process 3 on node 10.0.0.1\n")));
  EXPECT_EQ(session.take("MONITOR trace\n"), "OK\n");
  EXPECT_THAT(session.events(events), EndsWith("] PEER_UNRESPONSIVE: Process 2 on node 10.0.0.1\n"));
  EXPECT_EQ(session.take("monitor lifecycle,trace\nset format json\n"), "OK\nOK\n");
  EXPECT_THAT(session.events(events), AllOf(HasSubstr("\"group\":\"TRACE\",\"event\":\"PEER_UNRESPONSIVE\","
                                                      "\"peer\":{\"host\":\"10.0.0.1\",\"pid\":2"),
                                            HasSubstr("PEER_DEAD"), HasSubstr("PEER_NEW")));
  EXPECT_THAT(changes(after, after), IsEmpty());
  EXPECT_EQ(changes(after, before).size(), 2u) << "both answer again; who has left is not told";
}

}  // namespace
}  // namespace weir::survey
