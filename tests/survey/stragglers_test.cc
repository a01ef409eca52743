// SPDX-License-Identifier: Apache-2.0

#include "src/survey/stragglers.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::survey {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kUs = 1000;

/// A process per rank, with the durations of calls from `first` on; 0: not timed.
std::vector<QueriedProcess> survey_of(const std::vector<std::vector<int64_t>>& took_by_rank,
                                      uint64_t first = 1, Collective kind = Collective::all_reduce) {
  std::vector<QueriedProcess> out;
  for (size_t rank = 0; rank < took_by_rank.size(); ++rank) {
    QueriedProcess& process = out.emplace_back();
    process.pid = 100 + static_cast<int32_t>(rank);
    process.host = "here";
    process.report.emplace();
    process.report->hostname = "here";
    process.report->pid = process.pid;
    core::CommunicatorReport& one = process.report->communicators.emplace_back();
    one.id = "00000000000000aa";
    one.ranks = static_cast<int>(took_by_rank.size());
    one.rank = static_cast<Rank>(rank);
    for (size_t call = 0; call < took_by_rank[rank].size(); ++call) {
      core::OperationReport& operation = one.recent.emplace_back();
      operation.call = first + call;
      operation.operation.call = core::OperationSummary::Call::collective;
      operation.operation.collective = kind;
      operation.took_ns = took_by_rank[rank][call];
      operation.exact = operation.took_ns > 0;
      operation.ended = true;
    }
  }
  return out;
}

TEST(Stragglers, WhoIsInTheCallForTheShortestTimeWasLast) {
  Stragglers stragglers;
  EXPECT_EQ(stragglers.text(), "");
  stragglers.add(survey_of({{100 * kUs, 120 * kUs}, {10 * kUs, 20 * kUs}, {110 * kUs, 90 * kUs}}));
  const auto counts = stragglers.recent("00000000000000aa");
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts.at(1).calls, 2u);
  EXPECT_EQ(counts.at(1).behind_ns, (110 - 10 + 120 - 20) * kUs);
  EXPECT_EQ(stragglers.text(),
            "communicator 00000000000000aa: rank 1 was last in 100 % of 2 timed calls, 100.0 us behind the "
            "others\n");
}

TEST(Stragglers, CallsCountOnceAndOnlyWhereAllRanksHaveTimedThem) {
  Stragglers stragglers;
  stragglers.add(survey_of({{50, 0, 50}, {10, 10, 90}}, 5));
  stragglers.add(survey_of({{50, 0, 50, 20}, {10, 10, 90, 60}}, 5));
  const auto counts = stragglers.recent("00000000000000aa");
  EXPECT_EQ(counts.at(1).calls, 1u) << "call 5; call 6 was not timed everywhere";
  EXPECT_EQ(counts.at(0).calls, 2u) << "calls 7 and 8";
  auto partly = survey_of({{50}, {10}}, 20);
  partly.pop_back();
  stragglers.add(partly);
  EXPECT_EQ(stragglers.total("00000000000000aa").at(0).calls, 2u) << "a rank did not answer";
}

TEST(Stragglers, OfOperationsThatOneRankCanEndAloneNothingIsSaid) {
  Stragglers stragglers;
  stragglers.add(survey_of({{50, 50}, {10, 10}}, 1, Collective::broadcast));
  EXPECT_THAT(stragglers.recent("00000000000000aa"), IsEmpty());
  EXPECT_EQ(stragglers.text(), "");
}

TEST(Stragglers, TheTextIsAboutTheLastCallsAndTheTotalAboutAll) {
  Stragglers stragglers;
  for (uint64_t first = 1; first <= Stragglers::kMostCalls; first += 100)
    stragglers.add(
        survey_of({std::vector<int64_t>(100, 5 * kUs), std::vector<int64_t>(100, 9 * kUs)}, first));
  const uint64_t next = Stragglers::kMostCalls + 1;
  for (uint64_t first = next; first < next + 9000; first += 100)
    stragglers.add(
        survey_of({std::vector<int64_t>(100, 9 * kUs), std::vector<int64_t>(100, 5 * kUs)}, first));
  EXPECT_THAT(stragglers.text(), HasSubstr("rank 1 was last in 90 % of 10000 timed calls, 4.0 us behind"));
  EXPECT_EQ(stragglers.total("00000000000000aa").at(0).calls, Stragglers::kMostCalls);
}

}  // namespace
}  // namespace weir::survey
