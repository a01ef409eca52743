// SPDX-License-Identifier: Apache-2.0
// What a job is made of, from the reports of its processes.
#include "src/survey/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/survey/reports.h"

namespace weir::survey {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using weir::testing::join;
using weir::testing::kId;
using weir::testing::process_of;
using weir::testing::without_answer;

TEST(Job, OfAlikeRanksIsAllRight) {
  std::vector<QueriedProcess> asked = {process_of(1, 20), process_of(1, 10), process_of(2, 30)};
  join(asked, kId, {7, 7, 7});
  const Job job = job_of(asked, 0.25);
  EXPECT_EQ(job.seconds, 0.25);
  ASSERT_THAT(job.processes, SizeIs(3));
  EXPECT_EQ(job.processes[0].pid, 10) << "by node and pid";
  EXPECT_EQ(job.processes[2].node, "10.0.0.2");
  ASSERT_THAT(job.communicators, SizeIs(1));
  const JobCommunicator& one = job.communicators[0];
  EXPECT_EQ(one.size, 3);
  EXPECT_EQ(one.nodes, 2);
  EXPECT_EQ(one.least_per_node, 1);
  EXPECT_EQ(one.most_per_node, 2);
  EXPECT_EQ(one.standing, CommState::running);
  EXPECT_FALSE(one.incomplete || one.error || one.mismatch);
  EXPECT_EQ(job.processes[one.ranks[0].process].pid, 20);
  ASSERT_THAT(job.groups, SizeIs(1));
  EXPECT_EQ(job.groups[0].ranks, 3);
}

TEST(Job, RanksWithoutAnAnswerAreMissing) {
  std::vector<QueriedProcess> asked = {process_of(1, 1), process_of(1, 2), process_of(1, 3),
                                       process_of(1, 4)};
  join(asked, kId, {1, 1, 1, 1});
  asked[1] = without_answer(asked[1], false);
  asked[2] = without_answer(asked[2], true);
  asked[3].report->communicators.clear();
  const Job job = job_of(asked, 0);
  ASSERT_THAT(job.communicators, SizeIs(1));
  const JobCommunicator& one = job.communicators[0];
  EXPECT_THAT(one.ranks, SizeIs(1));
  ASSERT_THAT(one.missing, SizeIs(3));
  EXPECT_EQ(one.silent, 2u);
  EXPECT_TRUE(one.incomplete);
  EXPECT_TRUE(one.mismatch) << "rank 3 does not have it";
  EXPECT_FALSE(one.error);
  EXPECT_EQ(job.processes[one.missing[0].process].state, JobProcess::State::silent);
  EXPECT_EQ(job.processes[one.missing[1].process].state, JobProcess::State::dead);
  EXPECT_EQ(job.processes[one.missing[2].process].state, JobProcess::State::answers);
}

TEST(Job, DifferentCountsAreAMismatchButForSendsAndReceives) {
  std::vector<QueriedProcess> asked = {process_of(1, 1), process_of(1, 2)};
  join(asked, kId, {4, 4});
  asked[0].report->communicators[0].counts[static_cast<size_t>(Collective::send_recv)].begun = 9;
  EXPECT_FALSE(job_of(asked, 0).communicators[0].mismatch);
  asked[0].report->communicators[0].counts[static_cast<size_t>(Collective::broadcast)].begun = 1;
  const Job job = job_of(asked, 0);
  EXPECT_TRUE(job.communicators[0].mismatch);
  EXPECT_TRUE(job.communicators[0].differs_in(Collective::broadcast));
  EXPECT_FALSE(job.communicators[0].differs_in(Collective::all_reduce));
}

TEST(Job, StatesAndFailuresOfRanks) {
  std::vector<QueriedProcess> asked = {process_of(1, 1), process_of(1, 2), process_of(1, 3)};
  join(asked, kId, {1, 1, 1});
  core::CommunicatorReport& failed = asked[0].report->communicators[0];
  failed.state = core::RankState::failed;
  failed.code = Code::remote_error;
  failed.sentence = "rank 1 is dead";
  asked[1].report->communicators[0].state = core::RankState::joining;
  core::CommunicatorReport& waiting = asked[2].report->communicators[0];
  waiting.state = core::RankState::waiting;
  waiting.waiting_for = {0, 1};
  waiting.waiting_ns = 1'500'000'000;
  const Job job = job_of(asked, 0);
  const JobCommunicator& one = job.communicators[0];
  EXPECT_TRUE(one.error);
  EXPECT_TRUE(one.mismatch) << "one still joins";
  EXPECT_EQ(one.standing, CommState::running);
  EXPECT_EQ(one.ranks[0].code, Code::remote_error);
  EXPECT_EQ(one.ranks[1].standing, CommState::init);
  EXPECT_THAT(one.ranks[2].waiting_for, ElementsAre(0, 1));
  EXPECT_EQ(one.ranks[2].waiting_s, 1.5);
}

TEST(Job, GroupsAreOfAlikeCommunicatorsTheLargestFirst) {
  std::vector<QueriedProcess> four = {process_of(1, 1), process_of(1, 2), process_of(2, 3), process_of(2, 4)};
  join(four, kId, {1, 1, 1, 1});
  for (size_t i = 0; i < 4; i += 2) {
    std::vector<QueriedProcess> two = {four[i], four[i + 1]};
    join(two, fmt::format("{:016x}", i), {1, 1});
    four[i] = two[0];
    four[i + 1] = two[1];
  }
  four[0].report->communicators[0].gpu = 0;
  four[0].report->communicators[1].gpu = 0;
  const Job job = job_of(four, 0);
  ASSERT_THAT(job.communicators, SizeIs(3));
  EXPECT_EQ(job.communicators[0].id, kId);
  ASSERT_THAT(job.groups, SizeIs(2));
  EXPECT_EQ(job.groups[0].count, 1u);
  EXPECT_EQ(job.groups[0].ranks, 4) << "a GPU, and three ranks on host memory";
  EXPECT_EQ(job.groups[1].count, 2u);
  EXPECT_EQ(job.groups[1].ranks, 4);
  EXPECT_THAT(job.processes[0].gpus, ElementsAre(0));
}

TEST(Job, WhoHasNoOthersYetIsJoining) {
  std::vector<QueriedProcess> asked = {process_of(1, 1)};
  asked[0].report->time_ns = 5'000'000'000;
  asked[0].report->joining.push_back({2, 8, "10.0.0.1:99", 2'000'000'000});
  core::CommunicatorReport& begun = asked[0].report->communicators.emplace_back();  // has no members yet
  begun.id = kId;
  begun.rank = 2;
  begun.state = core::RankState::joining;
  const Job job = job_of(asked, 0);
  ASSERT_THAT(job.joining, SizeIs(1));
  EXPECT_EQ(job.joining[0].ranks, 8);
  EXPECT_EQ(job.joining[0].since_s, 3);
  ASSERT_THAT(job.communicators, SizeIs(1));
  EXPECT_THAT(job.communicators[0].ranks, SizeIs(1));
  EXPECT_THAT(job.communicators[0].missing, IsEmpty());
  EXPECT_EQ(job.communicators[0].standing, CommState::init);
}

TEST(Job, ABrokenReportOfNoRankIsNoCommunicator) {
  std::vector<QueriedProcess> asked = {process_of(1, 1), process_of(1, 2)};
  join(asked, kId, {1, 1});
  asked[0].report->communicators[0].rank = -1;
  asked[1] = without_answer(asked[1], false);
  const Job job = job_of(asked, 0);
  EXPECT_THAT(job.communicators, IsEmpty());
  EXPECT_THAT(job.processes, SizeIs(2));
}

TEST(Job, OfNothingIsEmpty) {
  const Job job = job_of({}, 0);
  EXPECT_THAT(job.processes, IsEmpty());
  EXPECT_THAT(job.communicators, IsEmpty());
  EXPECT_THAT(job.groups, IsEmpty());
}

}  // namespace
}  // namespace weir::survey
