// SPDX-License-Identifier: Apache-2.0
// --net-stats, on the fake libnccl: with counters (fake_net_stats.cc) and without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/command.h"

namespace weir::perf {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using weir::testing::CommandResult;
using weir::testing::run_command;

CommandResult run(const std::string& program, const std::string& arguments) {
  return run_command(program + " all_reduce_perf " + arguments + " 2>&1");
}

/// The first line that begins so.
std::string line(const std::string& text, const std::string& beginning) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(beginning)) return line;
  return "";
}

nlohmann::ordered_json row_of(const std::string& program, const std::string& arguments) {
  const std::string path = ::testing::TempDir() + "net_stats.json" + std::to_string(getpid());
  std::filesystem::remove(path);
  const CommandResult result = run(program, arguments + " -J " + path);
  EXPECT_EQ(result.code, 0) << result.text;
  std::ifstream file(path);
  auto json = nlohmann::ordered_json::parse(file);
  std::filesystem::remove(path);
  return json["results"][0];
}

// Four ranks, each counted once out of place and once in place: eight times what the fake adds, but the
// packets that the host has dropped and its ports' retries, which every rank tells: twice.
constexpr const char* kFourRanks = "-t 2 -g 2 -b 8 -e 8 -n 5 -m 2";

TEST(NetStats, ColumnsAreSumsOverRanks) {
  const CommandResult result = run(WEIR_FAKE_PERF_COUNTING, std::string(kFourRanks) + " --net-stats");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(line(result.text, "#       size"),
              EndsWith("  #wrong        out   grants   stalls   stalled  retrans    drops  retries "));
  EXPECT_THAT(
      line(result.text, "#        (B)"),
      EndsWith("  (GB/s)               (MB)                        (ms)   (segs)   (pkts)          "));
  EXPECT_THAT(line(result.text, "           8"),
              EndsWith("       0       2.00       24       16     12.00       88       10       12"));
}

TEST(NetStats, ColumnsComeBeforeTheTimeOfDay) {
  const CommandResult result = run(WEIR_FAKE_PERF_COUNTING, std::string(kFourRanks) + " --net-stats -S 1");
  EXPECT_THAT(line(result.text, "#       size"), EndsWith("  retries           timestamp"));
  EXPECT_THAT(line(result.text, "           8"),
              ::testing::ContainsRegex("      12  20[0-9-]{8} [0-9:]{8}$"));
}

TEST(NetStats, JsonHasThemAlsoWithoutColumns) {
  const auto row = row_of(WEIR_FAKE_PERF_COUNTING, kFourRanks);
  const auto expected = nlohmann::ordered_json::parse(
      R"({"operations": 20, "sent_bytes": 2000000, "received_bytes": 1600000, "sent_messages": 320,
          "received_messages": 240, "grants": 24, "stalls": 16, "stalled_ns": 12000000,
          "abandoned_connections": 56, "retransmitted_segments": 88, "dropped_packets": 10, "port_retries": 12})");
  EXPECT_EQ(row["net_stats"], expected);
  EXPECT_THAT(run(WEIR_FAKE_PERF_COUNTING, kFourRanks).text, Not(HasSubstr("retrans")));
}

TEST(NetStats, ALibraryThatDoesNotCountIsNoFailure) {
  const CommandResult result = run(WEIR_FAKE_PERF, std::string(kFourRanks) + " --net-stats");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("# --net-stats: this library has no network counters"));
  EXPECT_THAT(result.text, Not(HasSubstr("retrans")));
  EXPECT_TRUE(row_of(WEIR_FAKE_PERF, kFourRanks)["net_stats"].is_null());
}

}  // namespace
}  // namespace weir::perf
