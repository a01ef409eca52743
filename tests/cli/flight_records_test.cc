// SPDX-License-Identifier: Apache-2.0
// Which numbers ranks get in flight records, and which operations are in them; and pickles, byte by byte.
// flight_records_test.py has real jobs.
#include "src/cli/flight_records.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/cli/pickle.h"

namespace weir::cli {
namespace {

using core::CommunicatorReport;
using core::OperationReport;
using core::ProcessReport;
using nlohmann::ordered_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Call = core::OperationSummary::Call;

core::PeerAddress process_at(int pid) {
  core::PeerAddress out;
  out.hostname = "here";
  out.pid = pid;
  return out;
}

ProcessReport process(int pid) {
  ProcessReport out;
  out.hostname = "here";
  out.pid = pid;
  return out;
}

/// Adds the rank of a communicator whose ranks are in these processes.
CommunicatorReport& add(ProcessReport& process, const std::string& id, const std::vector<int>& pids,
                        Rank rank) {
  CommunicatorReport& out = process.communicators.emplace_back();
  out.id = id;
  out.rank = rank;
  out.ranks = static_cast<int>(pids.size());
  for (const int pid : pids) out.members.push_back(process_at(pid));
  return out;
}

void record(CommunicatorReport& report, uint64_t call, const core::OperationSummary& operation,
            bool ended = true) {
  OperationReport& one = report.recent.emplace_back();
  one.number = report.recent.size();
  one.call = call;
  one.operation = operation;
  one.begun_ns = static_cast<int64_t>(1000 * call);
  one.took_ns = ended ? 500 : 0;
  one.ended = ended;
}
core::OperationSummary collective(Collective kind, Rank root = 0) {
  return {.collective = kind, .rank = root, .count = 10};
}

std::vector<int64_t> numbers_in(const ordered_json& record, const char* key = "collective_seq_id") {
  std::vector<int64_t> out;
  for (const ordered_json& entry : record["entries"]) out.push_back(entry[key]);
  return out;
}
std::vector<std::string> names_in(const ordered_json& record) {
  std::vector<std::string> out;
  for (const ordered_json& entry : record["entries"]) out.push_back(entry["profiling_name"]);
  return out;
}

TEST(FlightRecords, RanksHaveTheNumbersOfTheLargestCommunicator) {
  const std::vector<int> world = {40, 10, 30};
  std::vector<ProcessReport> reports;
  for (size_t rank = 0; rank < world.size(); ++rank) {
    reports.push_back(process(world[rank]));
    if (rank != 1) add(reports.back(), "half", {30, 40}, rank == 0 ? 1 : 0);
    add(reports.back(), "world", world, static_cast<Rank>(rank)).name = "all";
  }
  for (ProcessReport& report : reports) {
    for (CommunicatorReport& one : report.communicators) record(one, 1, collective(Collective::all_reduce));
  }
  const FlightRecords records = flight_records_of(reports);
  EXPECT_THAT(records.left_out, IsEmpty());
  EXPECT_TRUE(records.complete);
  ASSERT_EQ(records.by_rank.size(), 3u);
  const ordered_json& first = records.by_rank.at(0);
  EXPECT_EQ(first["pg_config"]["world"]["ranks"], "[0, 1, 2]");
  EXPECT_EQ(first["pg_config"]["world"]["desc"], "all");
  EXPECT_EQ(first["pg_config"]["half"]["ranks"], "[2, 0]");
  EXPECT_EQ(first["pg_config"]["half"]["desc"], "undefined");
  EXPECT_FALSE(records.by_rank.at(1)["pg_config"].contains("half"));
}

TEST(FlightRecords, SizesAreThoseOfTheBuffers) {
  std::vector<ProcessReport> reports = {process(1), process(2)};
  for (int rank = 0; rank < 2; ++rank) {
    CommunicatorReport& one = add(reports[static_cast<size_t>(rank)], "a", {1, 2}, rank);
    uint64_t call = 0;
    for (const Collective kind : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                  Collective::all_to_all, Collective::gather, Collective::scatter})
      record(one, ++call, collective(kind, 1));
    record(one, ++call, {.collective = Collective::broadcast, .type = DataType::bfloat16, .count = 7}, false);
  }
  const FlightRecords records = flight_records_of(reports);
  const auto sizes = [&records](int rank) {
    std::vector<std::string> out;
    for (const ordered_json& entry : records.by_rank.at(rank)["entries"])
      out.push_back(fmt::format("{} {} {}", std::string(entry["profiling_name"]), entry["input_sizes"].dump(),
                                entry["output_sizes"].dump()));
    return out;
  };
  EXPECT_THAT(sizes(1), ElementsAre("nccl:all_reduce [[10]] [[10]]", "nccl:_all_gather_base [[10]] [[20]]",
                                    "nccl:_reduce_scatter_base [[20]] [[10]]",
                                    "nccl:all_to_all [[20]] [[20]]", "nccl:gather [[10]] [[20]]",
                                    "nccl:scatter [[20]] [[10]]", "nccl:broadcast [[7]] [[7]]"));
  EXPECT_EQ(sizes(0)[4], "nccl:gather [[10]] []");
  EXPECT_EQ(sizes(0)[5], "nccl:scatter [] [[10]]");
  const ordered_json& last = records.by_rank.at(0)["entries"].back();
  EXPECT_EQ(last["state"], "started");
  EXPECT_EQ(last["input_dtypes"].dump(), "[\"BFloat16\"]");
  EXPECT_EQ(last["frames"][0]["name"], "ncclBroadcast(count 7, bfloat16, root 0)");
  EXPECT_EQ(last["frames"][0]["line"], 7);
  EXPECT_EQ(records.by_rank.at(0)["pg_status"]["a"]["last_completed_collective"], 6);
  EXPECT_THAT(numbers_in(records.by_rank.at(0), "record_id"), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

/// The record of rank 1 begins with the messages after call 3.
TEST(FlightRecords, CallsThatSomeRankHasForgottenAreLeftOut) {
  std::vector<ProcessReport> reports = {process(1), process(2)};
  const core::OperationSummary send = {.call = Call::send, .rank = 1, .count = 5};
  const core::OperationSummary receive = {.call = Call::receive, .rank = 0, .count = 5};
  for (int rank = 0; rank < 2; ++rank) {
    CommunicatorReport& one = add(reports[static_cast<size_t>(rank)], "a", {1, 2}, rank);
    for (uint64_t call = 1; call <= 5; ++call) {
      record(one, call, collective(Collective::all_reduce));
      record(one, call, rank == 0 ? send : receive);
    }
  }
  std::vector<OperationReport>& late = reports[1].communicators[0].recent;
  EXPECT_THAT(names_in(flight_records_of(reports).by_rank.at(1)),
              ::testing::Contains("nccl:recv 1<-0").Times(5));
  late.erase(late.begin(), late.begin() + 5);
  const FlightRecords records = flight_records_of(reports);
  for (const int rank : {0, 1}) EXPECT_THAT(numbers_in(records.by_rank.at(rank)), ElementsAre(4, 5)) << rank;
  ASSERT_EQ(records.left_out.size(), 1u);
  EXPECT_THAT(records.left_out[0], HasSubstr("messages are left out"));
}

TEST(FlightRecords, EachDirectionHasItsMessagesInOrder) {
  std::vector<ProcessReport> reports = {process(1), process(2), process(3)};
  const auto message = [](Call call, Rank peer) {
    return core::OperationSummary{.call = call, .rank = peer, .count = 5};
  };
  for (int rank = 0; rank < 3; ++rank) add(reports[static_cast<size_t>(rank)], "a", {1, 2, 3}, rank);
  record(reports[2].communicators[0], 0, message(Call::send, 1));
  record(reports[2].communicators[0], 0, message(Call::receive, 1));
  record(reports[2].communicators[0], 0, message(Call::send, 1));
  record(reports[2].communicators[0], 0, message(Call::send, 2));  // to itself
  record(reports[1].communicators[0], 0, message(Call::receive, 2));
  record(reports[1].communicators[0], 0, message(Call::send, 2));
  const FlightRecords records = flight_records_of(reports);
  EXPECT_THAT(names_in(records.by_rank.at(2)),
              ElementsAre("nccl:send 1->0", "nccl:recv 1<-0", "nccl:send 1->0"));
  EXPECT_THAT(numbers_in(records.by_rank.at(2), "p2p_seq_id"), ElementsAre(1, 1, 2));
  EXPECT_THAT(names_in(records.by_rank.at(1)), ElementsAre("nccl:recv 0<-1", "nccl:send 0->1"));
  EXPECT_EQ(records.by_rank.at(1)["pg_config"]["a 2->1"]["ranks"], "[1, 2]");
  EXPECT_THAT(names_in(records.by_rank.at(0)), IsEmpty());
}

TEST(FlightRecords, OfSeveralReportsOfAProcessTheLatestCounts) {
  std::vector<ProcessReport> reports = {process(1), process(1)};
  for (ProcessReport& report : reports)
    record(add(report, "a", {1}, 0), 1, collective(Collective::all_reduce));
  record(reports[0].communicators[0], 2, collective(Collective::all_reduce));
  reports[0].time_ns = 2;
  reports[1].time_ns = 1;
  EXPECT_THAT(numbers_in(flight_records_of(reports).by_rank.at(0)), ElementsAre(1, 2));
}

/// Two ranks in each of two processes: only where all of them take part it is known which is which.
TEST(FlightRecords, RanksOfOneProcessAreTakenInTheirOrder) {
  const std::vector<int> world = {1, 2, 1, 2};
  std::vector<ProcessReport> reports = {process(1), process(2)};
  for (int rank = 0; rank < 4; ++rank) add(reports[static_cast<size_t>(rank % 2)], "world", world, rank);
  for (int rank = 0; rank < 4; ++rank) add(reports[rank < 2 ? 1 : 0], "turned", {2, 2, 1, 1}, rank);
  add(reports[0], "some", {1, 2}, 0);
  for (ProcessReport& report : reports) {
    for (CommunicatorReport& one : report.communicators) record(one, 1, collective(Collective::all_reduce));
  }
  const FlightRecords records = flight_records_of(reports);
  ASSERT_EQ(records.by_rank.size(), 4u);
  EXPECT_EQ(records.by_rank.at(0)["pg_config"]["turned"]["ranks"], "[1, 3, 0, 2]");
  EXPECT_FALSE(records.by_rank.at(0)["pg_config"].contains("some"));
  ASSERT_EQ(records.left_out.size(), 1u);
  EXPECT_THAT(records.left_out[0], HasSubstr("communicator some is left out: only some of the ranks"));
}

TEST(FlightRecords, RanksWithoutAReportOrARecordAccuseNobody) {
  std::vector<ProcessReport> reports = {process(1), process(2)};
  for (int rank = 0; rank < 2; ++rank) {
    record(add(reports[static_cast<size_t>(rank)], "a", {1, 2, 3}, rank), 1,
           collective(Collective::all_reduce));
    CommunicatorReport& other = add(reports[static_cast<size_t>(rank)], "b", {1, 2}, rank);
    other.calls = 1;  // recorded by rank 0 only
    if (rank == 0) record(other, 1, collective(Collective::all_reduce));
  }
  const FlightRecords records = flight_records_of(reports);
  EXPECT_FALSE(records.complete);
  EXPECT_THAT(records.left_out,
              ElementsAre("communicator b is left out: rank 1 records nothing (WEIR_RECORDER)",
                          "there is no report of rank 2 (process 3 on here)"));
  EXPECT_EQ(records.by_rank.size(), 2u);
  EXPECT_THAT(numbers_in(records.by_rank.at(0)), ElementsAre(1));
}

TEST(FlightRecords, OfNothing) {
  EXPECT_THAT(flight_records_of({}).by_rank, IsEmpty());
  EXPECT_THAT(flight_records_of({process(1)}).by_rank, IsEmpty());
}

std::string hex(const std::string& bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return out;
}

/// As pickletools.dis() of Python describes the opcodes.
TEST(Pickle, HasPythonsOpcodes) {
  EXPECT_EQ(hex(pickle_of(nullptr)), "80024e2e");
  EXPECT_EQ(hex(pickle_of(ordered_json::array({true, false}))),
            "80025d2888"
            "89652e");
  EXPECT_EQ(hex(pickle_of({{"a\xc3\xa4", -2}})),
            "80027d285803000000"
            "61c3a4"
            "4afeffffff"
            "752e");
  EXPECT_EQ(hex(pickle_of(int64_t{1} << 31)),
            "80028a08"
            "0000008000000000"
            "2e");
  EXPECT_EQ(hex(pickle_of(UINT64_MAX)),
            "80028a09"
            "ffffffffffffffff00"
            "2e");
  EXPECT_EQ(hex(pickle_of(INT64_MIN)),
            "80028a08"
            "0000000000000080"
            "2e");
  EXPECT_EQ(hex(pickle_of(1.5)),
            "800247"
            "3ff8000000000000"
            "2e");
}

}  // namespace
}  // namespace weir::cli
