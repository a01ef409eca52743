// SPDX-License-Identifier: Apache-2.0
// The whole program, on the fake libnccl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/perf/collective.h"
#include "tests/cli/command.h"

namespace weir::perf {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using weir::testing::CommandResult;
using weir::testing::run_command;

CommandResult perf(const std::string& arguments, const std::string& environment = "") {
  return run_command(environment + " " WEIR_FAKE_PERF " " + arguments + " 2>&1");
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) found.push_back(line);
  return found;
}

std::vector<std::string> rows(const std::string& text) {
  std::vector<std::string> found;
  for (const std::string& line : lines(text))
    if (!line.empty() && line[0] == ' ') found.push_back(line);
  return found;
}

std::string temporary_file(const char* name) {
  std::string path = ::testing::TempDir() + name + std::to_string(getpid());
  std::filesystem::remove(path);
  return path;
}

TEST(Program, PrintsTheTableOfNcclTests) {
  CommandResult result = perf("all_reduce_perf -t 2 -g 2 -b 8 -e 64 -f 8 -n 2");
  EXPECT_EQ(result.code, 0) << result.text;
  std::vector<std::string> text = lines(result.text);
  ASSERT_EQ(text.size(), 21) << result.text;
  EXPECT_EQ(text[0], "# nccl-tests version 2.19.6 nccl-headers=23203 nccl-library=23203");
  EXPECT_EQ(text[1], "# Collective test starting: all_reduce_perf");
  EXPECT_EQ(
      text[2],
      "# nThread 2 nGpus 2 minBytes 8 maxBytes 64 step: 8(factor) warmup iters: 1 iters: 2 agg iters: 1 "
      "validation: 1 graph: 0 unalign: 0");
  EXPECT_EQ(text[4], "# Using devices");
  EXPECT_THAT(text[8],
              MatchesRegex("#  Rank  3 Group  0 Pid +[0-9]+ on +[^ ]+ device  3 \\[0000:00:00\\] host"));
  EXPECT_EQ(text[10],
            "#                                                              out-of-place                     "
            "  in-place          ");
  EXPECT_EQ(text[11],
            "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time  "
            " algbw   busbw  #wrong ");
  EXPECT_EQ(text[12],
            "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  "
            "(GB/s)  (GB/s)         ");
  const char* row =
      "           8             2     float     sum      -1(  [ 0-9.]{7}  [ 0-9.]{6}  [ 0-9.]{6}       "
      "0){2}";
  EXPECT_THAT(text[13], MatchesRegex(row));
  EXPECT_EQ(text[15], "# Out of bounds values : 0 OK");
  EXPECT_THAT(text[16], ::testing::StartsWith("# Avg bus bandwidth    : "));
  EXPECT_EQ(text[17], "#");
  EXPECT_EQ(text[18], "# Collective test concluded: all_reduce_perf");
  EXPECT_EQ(text[19], "#");
  EXPECT_EQ(text[20], "");
}

TEST(Program, EveryCollectiveIsRightForEveryRoot) {
  for (const Collective& collective : all_collectives()) {
    for (std::string ranks : {"-g 4", "-t 2 -g 2", "-t 4", "-g 1"}) {
      if (collective.hypercube && ranks != "-t 4" && ranks != "-g 1") continue;
      CommandResult result =
          perf(std::string(collective.program) + " -b 64 -e 4K -f 8 -n 2 -r -1 -d half " + ranks);
      EXPECT_EQ(result.code, 0) << result.text;
      EXPECT_THAT(result.text, HasSubstr("Out of bounds values : 0 OK"));
      size_t roots = collective.has_root && ranks != "-g 1" ? 4 : 1;
      EXPECT_EQ(rows(result.text).size(), 3 * roots) << result.text;
    }
  }
}

TEST(Program, EveryTypeAndOperationIsChecked) {
  CommandResult result = perf("reduce_scatter_perf -g 3 -b 1K -e 1K -n 1 -d all -o all");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_EQ(rows(result.text).size(), 12 * 6);
}

TEST(Program, WrongValuesAreCountedAndMakeCode7) {
  for (const Collective& collective : all_collectives()) {
    if (collective.program == "sendrecv_perf" || collective.program == "alltoallv_perf" ||
        collective.program == "hypercube_perf")
      continue;  // the fake corrupts collectives only
    CommandResult result =
        perf(std::string(collective.program) + " -g 2 -b 1K -e 1K -r 1", "FAKE_NCCL=corrupt");
    EXPECT_EQ(result.code, 7) << result.text;
    EXPECT_THAT(result.text, AllOf(HasSubstr("       1"), HasSubstr("FAILED"))) << collective.program;
  }
  EXPECT_EQ(perf("all_reduce_perf -g 2 -b 8 -e 8 -c 0", "FAKE_NCCL=corrupt").code, 0)
      << "nothing was checked";
}

TEST(Program, BuffersAreTheLibrarysUnlessTheSystemsAreAskedFor) {
  CommandResult library = perf("all_reduce_perf -g 2 -b 8 -e 8", "FAKE_NCCL=no_memory");
  EXPECT_EQ(library.code, 3) << library.text;
  EXPECT_THAT(library.text, HasSubstr("asked for no memory"));
  CommandResult system = perf("all_reduce_perf -g 2 -b 8 -e 8 --allocator system", "FAKE_NCCL=no_memory");
  EXPECT_EQ(system.code, 0) << system.text;
}

TEST(Program, TooLittleBandwidthMakesCode7) {
  EXPECT_EQ(perf("all_reduce_perf -g 2 -b 8 -e 8", "NCCL_TESTS_MIN_BW=1e6").code, 7);
  CommandResult enough = perf("all_reduce_perf -g 2 -b 8 -e 8", "NCCL_TESTS_MIN_BW=0");
  EXPECT_EQ(enough.code, 0);
  EXPECT_THAT(enough.text, ContainsRegex("Avg bus bandwidth    : [^ ]+ OK"));
}

TEST(Program, FailuresOfTheLibraryMakeCode3AndSayWhere) {
  CommandResult result = perf("all_reduce_perf -t 2 -b 8 -e 8", "FAKE_NCCL=fail");
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.text,
              ContainsRegex("Test NCCL failure timing.cc:[0-9]+ 'an error of the fake / asked to fail'"));
  EXPECT_THAT(result.text, ContainsRegex(" \\.\\. [^ ]+ pid [0-9]+: Test failure worker.cc:"));
}

TEST(Program, ATimeoutMakesCode4) {
  CommandResult result = perf("all_reduce_perf -t 2 -b 8 -e 8 -T 1", "FAKE_NCCL=hang");
  EXPECT_EQ(result.code, 4) << result.text;
  EXPECT_THAT(result.text, HasSubstr("Test timeout (1s)"));
}

TEST(Program, WhatNeedsAGpuIsRefused) {
  for (const char* arguments : {"-G 1", "-R 2 -D 1"}) {
    CommandResult result = perf(std::string("all_reduce_perf ") + arguments);
    EXPECT_EQ(result.code, 5);
    EXPECT_THAT(result.text, HasSubstr("GPU, but these ranks use host memory"));
  }
  EXPECT_EQ(perf("alltoallv_perf", "NCCL_TESTS_ALLTOALLV_SPREAD=2").code, 5);
  EXPECT_THAT(perf("hypercube_perf -g 2").text, HasSubstr("use -t or --ranks"));
  CommandResult cube = perf("hypercube_perf -t 3");
  EXPECT_EQ(cube.code, 6);
  EXPECT_THAT(cube.text, HasSubstr("has 3 ranks; expected a power of two"));
  EXPECT_THAT(perf("reduce_perf -g 3 -r 3").text, HasSubstr("root is 3; expected 0 to 2"));
}

TEST(Program, OptionsShowInTheTable) {
  CommandResult result = perf("all_reduce_perf -g 2 -b 8 -e 8 -n 4 -c 0 -C 1 -S 1 -M 1 -z 1 -p 1");
  EXPECT_THAT(result.text, AllOf(HasSubstr("cputime"), HasSubstr("timestamp"), HasSubstr("    N/A"),
                                 HasSubstr("memory usage"), HasSubstr("# Blocking Enabled"),
                                 HasSubstr("# Parallel Init Enabled")));
  EXPECT_THAT(rows(result.text)[0], ContainsRegex("    N/A  20[0-9-]{8} [0-9:]{8}$"));
  EXPECT_THAT(perf("alltoall_perf -g 2 -b 64 -e 64").text, ContainsRegex("none      -1.*0 .*    N/A"));
  EXPECT_EQ(
      perf("all_reduce_perf -t 2 -b 8 -e 64 -f 2 -m 3 -z 3 -R 1 -u 1 -o mulsum -d f8e4m3 -N 2 -a 3 -x 2")
          .code,
      0);
}

TEST(Program, WritesJsonOfVersion3) {
  const std::string path = temporary_file("perf.json");
  CommandResult result = perf("all_reduce_perf -t 2 -b 8 -e 16 -f 2 -n 5 -I 1 -K 2 -J " + path,
                              "PERF_TEST='a \"quoted\" \xff word'");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text, HasSubstr("# Writing JSON output to " + path));
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto json = nlohmann::ordered_json::parse(text);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_THAT(keys, ::testing::ElementsAre("version", "start_time", "args", "env", "nccl_version", "config",
                                           "results", "out_of_bounds", "average_bus_bandwidth", "errors",
                                           "end_time"));
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["nccl_version"], 23203);
  EXPECT_EQ(json["args"][0], "all_reduce_perf");
  EXPECT_EQ(json["config"]["per_iter_timing"], "true");
  EXPECT_EQ(json["config"]["devices"][1]["device_info"], "host");
  EXPECT_EQ(json["config"]["devices"][1]["device_hex"], "0000:00:00");
  EXPECT_EQ(json["results"].size(), 2);
  const auto& row = json["results"][1];
  EXPECT_EQ(row["size"], 16);
  EXPECT_EQ(row["root"], "    -1");
  EXPECT_EQ(row["in_place"]["nwrong"], 0);
  EXPECT_EQ(row["out_of_place_per_iter"]["times_us"].size(), 3);
  EXPECT_EQ(row["in_place_per_iter"]["per_process_max_times_us"][0].size(), 3);
  EXPECT_EQ(json["average_bus_bandwidth"]["okay"], "unchecked");
  EXPECT_EQ(json["out_of_bounds"]["okay"], "true");
  EXPECT_THAT(text, ContainsRegex("\"alg_bw\":[0-9]+\\.[0-9]{6},")) << "six decimals";

  perf("all_reduce_perf -b 8 -e 8 -J " + path, "FAKE_NCCL=fail");
  std::ifstream second(path + ".0");
  auto failed = nlohmann::json::parse(second);
  EXPECT_THAT(failed["errors"][0].get<std::string>(), HasSubstr("asked to fail"));
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".0");
}

}  // namespace
}  // namespace weir::perf
