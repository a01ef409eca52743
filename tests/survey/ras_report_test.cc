// SPDX-License-Identifier: Apache-2.0
// The reports of the RAS port: word by word where tools read the words.
#include "src/survey/ras_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/survey/reports.h"

namespace weir::survey {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using weir::testing::join;
using weir::testing::kId;
using weir::testing::process_of;
using weir::testing::without_answer;

std::vector<QueriedProcess> ranks(int count) {
  std::vector<QueriedProcess> out;
  for (int rank = 0; rank < count; ++rank) out.push_back(process_of(1 + rank / 8, 100 + rank));
  return out;
}

std::string text_of(const std::vector<QueriedProcess>& asked, bool verbose = false) {
  return ras_text(job_of(asked, 0.0625), {}, verbose);
}

TEST(RasText, OfASoundJob) {
  std::vector<QueriedProcess> asked = ranks(16);
  join(asked, kId, std::vector<uint64_t>(16, 3));
  const std::string text = text_of(asked);
  EXPECT_EQ(text.substr(text.find("CUDA runtime")),
            "CUDA runtime version 0, driver version 0\n"
            "\n"
            "Job summary\n"
            "===========\n"
            "\n"
            "  Nodes  Processes         GPUs  Processes     GPUs\n"
            "(total)   per node  per process    (total)  (total)\n"
            "      2          8            0         16        0\n"
            "\n"
            "Communicators... (0.062s)\n"
            "=============\n"
            "\n"
            "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"
            "    #  in group  per comm  per node  per comm  in group\n"
            "    0         1         2         8        16        16   RUNNING      OK\n"
            "\n"
            "Errors\n"
            "======\n"
            "\n"
            "Warnings\n"
            "========\n"
            "\n");
}

TEST(RasText, OfNothing) {
  EXPECT_THAT(text_of({}), AllOf(HasSubstr("No communicator data collected!\n"),
                                 HasSubstr("      0          0            0          0        0\n")));
}

TEST(RasText, NamesTheDeadAndTheSilent) {
  std::vector<QueriedProcess> asked = ranks(16);
  join(asked, kId, std::vector<uint64_t>(16, 3));
  asked[3] = without_answer(asked[3], true);
  asked[9] = without_answer(asked[9], false);
  EXPECT_THAT(text_of(asked),
              AllOf(HasSubstr("        16        14   RUNNING  INCOMPLETE\n"),
                    HasSubstr("\nINCOMPLETE\n"
                              "  Missing communicator data from 1 job process\n"
                              "  Process 109 on node 10.0.0.2\n"
                              "\n"
                              "DEAD\n"
                              "  1 job process is considered dead (unreachable via the RAS network)\n"
                              "  Process 103 on node 10.0.0.1\n"
                              "\n"
                              "#0-0 (00000000000000aa) INCOMPLETE\n"
                              "  Missing communicator data from 2 ranks\n"
                              "  Rank 3 -- host memory managed by process 103 on node 10.0.0.1\n"
                              "  Rank 9 -- host memory managed by process 109 on node 10.0.0.2\n"
                              "\n")));
}

TEST(RasText, SaysWhoIsBehindAndWhoWaits) {
  std::vector<QueriedProcess> asked = ranks(8);
  std::vector<uint64_t> sums(8, 6);
  sums[5] = 0;
  join(asked, kId, sums);
  core::CommunicatorReport& gpu = asked[5].report->communicators[0];
  gpu.gpu = 2;
  for (const size_t rank : {0, 1}) {
    core::CommunicatorReport& one = asked[rank].report->communicators[0];
    one.state = core::RankState::waiting;
    one.waiting_for = {5};
    one.waiting_ns = 2'000'000'000;
    one.last.emplace();
    one.last->operation.count = 4;
  }
  EXPECT_THAT(
      text_of(asked),
      AllOf(HasSubstr("   RUNNING  MISMATCH\n"),
            HasSubstr("#0-0 (00000000000000aa) MISMATCH\n"
                      "  Communicator ranks have different AllReduce operation counts\n"
                      "  7 ranks have launched up to operation 6\n"
                      "  Rank 5 has not launched any operations -- GPU 2 managed by process 105 on node "
                      "10.0.0.1\n"
                      "\n"),
            HasSubstr("#0-0 (00000000000000aa) WAITING\n"
                      "  2 ranks wait for rank 5 for 2.0 s\n"
                      "  Rank 0 in ncclAllReduce(count 4, ")));
}

TEST(RasText, SaysWhyRanksHaveFailed) {
  std::vector<QueriedProcess> asked = ranks(8);
  join(asked, kId, std::vector<uint64_t>(8, 1));
  for (const size_t rank : {2, 4}) {
    core::CommunicatorReport& one = asked[rank].report->communicators[0];
    one.state = core::RankState::failed;
    one.code = Code::remote_error;
    one.sentence = "rank 7 is dead";
  }
  EXPECT_THAT(text_of(asked), HasSubstr("#0-0 (00000000000000aa) ERROR\n"
                                        "  Asynchronous errors on 2 ranks\n"
                                        "  2 ranks reported Remote process error\n"
                                        "  Rank 2 -- host memory managed by process 102 on node 10.0.0.1\n"
                                        "  Rank 4 -- host memory managed by process 104 on node 10.0.0.1\n"
                                        "  rank 7 is dead\n"));
}

TEST(RasText, ManyAreListedOnlyOnRequest) {
  std::vector<QueriedProcess> asked = ranks(32);
  std::vector<uint64_t> sums(32, 6);
  for (size_t rank = 0; rank < 12; ++rank) sums[rank] = 5;
  join(asked, kId, sums);
  EXPECT_THAT(text_of(asked), AllOf(HasSubstr("  20 ranks have launched up to operation 6\n"
                                              "  12 ranks have launched up to operation 5\n\n"),
                                    Not(HasSubstr("Rank 0 --"))));
  EXPECT_THAT(text_of(asked, true),
              AllOf(HasSubstr("  12 ranks have launched up to operation 5\n  Rank 0 --"),
                    Not(HasSubstr("Rank 12 --"))));
}

TEST(RasText, ShowsUnequalNodesAsRanges) {
  std::vector<QueriedProcess> asked = ranks(11);
  join(asked, kId, std::vector<uint64_t>(11, 1));
  asked[0].report->communicators[0].gpu = 0;
  EXPECT_THAT(text_of(asked), AllOf(HasSubstr("      2        3-8          0-1         11        1\n"),
                                    HasSubstr("    0         1         2       3-8        11        11")));
}

TEST(RasJson, HasNcclsKeys) {
  std::vector<QueriedProcess> asked = ranks(3);
  join(asked, kId, {3, 2, 2});
  asked[2] = without_answer(asked[2], true);
  core::CommunicatorReport& failed = asked[1].report->communicators[0];
  failed.gpu = 4;
  failed.state = core::RankState::failed;
  failed.code = Code::remote_error;
  failed.sentence = "rank 2 is \xff dead";
  asked[0].report->communicators[0].counts[static_cast<size_t>(Collective::gather)].begun = 1;
  const auto json = nlohmann::json::parse(ras_json(job_of(asked, 0.5), {.nccl = "2.29.1"}));
  EXPECT_EQ(json["nccl_version"], "2.29.1");
  EXPECT_EQ(json["communicators_count"], 1);
  const auto& one = json["communicators"][0];
  EXPECT_EQ(one["hash"], "0x" + kId);
  EXPECT_EQ(one["size"], 3);
  EXPECT_EQ(one["ranks_count"], 2);
  EXPECT_EQ(one["missing_ranks_count"], 1);
  const auto& first = one["ranks"][0];
  EXPECT_EQ(first["host"], "10.0.0.1");
  EXPECT_EQ(first["pid"], 100);
  EXPECT_EQ(first["cuda_dev"], -1);
  EXPECT_EQ(first["collective_counts"], nlohmann::json({{"Broadcast", 0},
                                                        {"Reduce", 0},
                                                        {"AllGather", 0},
                                                        {"ReduceScatter", 0},
                                                        {"AllReduce", 3},
                                                        {"Gather", 1}}));
  const auto& second = one["ranks"][1];
  EXPECT_EQ(second["nvml_dev"], 4);
  EXPECT_EQ(second["status"], nlohmann::json({{"init_state", 0},
                                              {"async_error", 6},
                                              {"finalize_called", false},
                                              {"destroy_flag", false},
                                              {"abort_flag", false}}));
  EXPECT_EQ(one["missing_ranks"][0]["rank"], 2);
  EXPECT_EQ(one["missing_ranks"][0]["status"],
            nlohmann::json({{"unresponsive", true}, {"considered_dead", true}}));
  EXPECT_EQ(json["ras"]["collection_time_sec"], 0.5);
  EXPECT_EQ(json["ras"]["timeouts_count"], 0);
}

}  // namespace
}  // namespace weir::survey
