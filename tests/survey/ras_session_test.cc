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
