// SPDX-License-Identifier: Apache-2.0
// --device: the programs, with the library, on the stand-ins of GPU drivers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/perf/collective.h"
#include "tests/cli/command.h"

namespace weir::perf {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using weir::testing::CommandResult;
using weir::testing::run_command;

/// The program and its options on the stand-in of a vendor's driver.
CommandResult on_gpus(const std::string& vendor, const std::string& command,
                      const std::string& environment = "") {
  const std::string driver = vendor == "cuda" ? WEIR_FAKE_CUDA : WEIR_FAKE_HIP;
  return run_command("LD_LIBRARY_PATH=" + driver + " " + environment + " " WEIR_PERF_FOLDER "/" + command +
                     " --device " + vendor + " 2>&1");
}

class Device : public ::testing::TestWithParam<const char*> {};

TEST_P(Device, RanksTakeTheGpusInTurn) {
  CommandResult result =
      on_gpus(GetParam(), "all_reduce_perf -t 2 -g 2 -b 8 -e 4K -f 512 -n 1 -d half -o avg");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("Out of bounds values : 0 OK"));
  EXPECT_THAT(result.text,
              ContainsRegex("Rank  2 Group  0 Pid +[0-9]+ on +[^ ]+ device  0 .0000:1b:00. Stand-in"));
  EXPECT_THAT(result.text,
              ContainsRegex("Rank  3 Group  0 Pid +[0-9]+ on +[^ ]+ device  1 .0000:2b:00. Stand-in"));
}

TEST_P(Device, ProcessesShareOneGpu) {
  CommandResult result =
      on_gpus(GetParam(), "all_gather_perf --ranks 2 -b 16 -e 16K -f 32 -n 2", "WEIR_FAKE_GPUS=1");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("Out of bounds values : 0 OK"));
  EXPECT_THAT(result.text, ContainsRegex("Rank  1 Group  0 Pid +[0-9]+ on +[^ ]+ device  0 "));
}

TEST_P(Device, GraphsAreCapturedLaunchedAndChecked) {
  CommandResult result =
      on_gpus(GetParam(), "all_reduce_perf -g 2 -b 8 -e 4K -f 16 -n 3 -m 2 -G 2 -c 2 -I 1");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("graph: 2"));
  EXPECT_THAT(result.text, HasSubstr("Out of bounds values : 0 OK"));
  EXPECT_THAT(result.text, Not(HasSubstr("i_min"))) << "iterations of a graph have no times of their own";
}

TEST_P(Device, StreamZeroAndRegisteredMemoryWork) {
  EXPECT_EQ(on_gpus(GetParam(), "hypercube_perf -t 2 -b 4K -e 4K -n 2 -y 1").code, 0);
  for (const char* kind : {"1", "2"}) {
    CommandResult result =
        on_gpus(GetParam(), std::string("all_reduce_perf -g 2 -b 4K -e 4K -n 2 -u 1 -R ") + kind);
    EXPECT_EQ(result.code, 0) << result.text;
  }
}

TEST_P(Device, TroubleOfTheDriverIsSaid) {
  const std::string small = "all_reduce_perf -b 8 -e 8 -n 1";
  CommandResult none = on_gpus(GetParam(), small, "WEIR_FAKE_GPUS=0");
  EXPECT_EQ(none.code, 5) << none.text;
  EXPECT_THAT(none.text, ContainsRegex(std::string("--device ") + GetParam() + ": .*no GPU"));
  CommandResult broken = on_gpus(GetParam(), small, "WEIR_FAKE_GPU_FAULTS=init");
  EXPECT_EQ(broken.code, 5) << broken.text;
  EXPECT_THAT(broken.text, HasSubstr("starting the driver failed: "));
  CommandResult full = on_gpus(GetParam(), small + " --allocator system", "WEIR_FAKE_GPU_FAULTS=alloc=1");
  EXPECT_EQ(full.code, 2) << full.text;
  EXPECT_THAT(full.text, HasSubstr("allocating 8 bytes failed: out of memory"));
  CommandResult reduced =
      on_gpus(GetParam(), "all_reduce_perf -g 4 -b 8 -e 1G -f 100000 -n 1", "WEIR_FAKE_GPU_BYTES=4194304");
  EXPECT_EQ(reduced.code, 0) << reduced.text;
  EXPECT_THAT(reduced.text, HasSubstr("Reducing maxBytes to 917504 "));
}

CommandResult ring_on(const std::string& vendor, const std::string& options) {
  return run_command("LD_LIBRARY_PATH=" + std::string(vendor == "cuda" ? WEIR_FAKE_CUDA : WEIR_FAKE_HIP) +
                     " " WEIR_GPU_RING " --device " + vendor + " " + options + " 2>&1");
}

TEST_P(Device, TheRingByHandSumsWhatTheInterpreterSums) {
  const std::string files = "--kernels " WEIR_FAKE_IMAGE " --by-hand " WEIR_FAKE_RING_IMAGE " ";
  CommandResult result =
      ring_on(GetParam(), files + "--ranks 2,3 --segment 1M --from 4020 --to 20000 --rounds 1");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(result.text, Not(HasSubstr("WRONG")));
  EXPECT_THAT(result.text, ContainsRegex(" 3 +16080 +[0-9.]+ +[0-9.]+ +[0-9.]+"));
  CommandResult missing = ring_on(GetParam(), "--kernels " WEIR_FAKE_IMAGE " --by-hand /none.so");
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.text, HasSubstr("/none.so"));
}

INSTANTIATE_TEST_SUITE_P(Vendors, Device, ::testing::Values("cuda", "hip"),
                         [](const auto& vendor) { return std::string(vendor.param); });

TEST(DevicePrograms, AllCollectivesAreRightOnDeviceMemory) {
  for (const Collective& collective : all_collectives()) {
#if defined(__SANITIZE_THREAD__)  // in place these receive over what they send: a race of the program's own
    if (!collective.checks_in_place) continue;
#endif
    CommandResult result =
        on_gpus("cuda", std::string(collective.program) + (collective.hypercube ? " -t 2" : " -g 3") +
                            " -b 1K -e 1K -n 1 -w 0");
    EXPECT_EQ(result.code, 0) << result.text;
    EXPECT_THAT(result.text, HasSubstr("Out of bounds values : 0 OK"));
  }
}

TEST(DeviceLimit, IsMeasuredAndPrinted) {
  const std::string path = ::testing::TempDir() + "limit" + std::to_string(getpid()) + ".json";
  CommandResult result =
      on_gpus("cuda", "all_reduce_perf -g 2 -b 64K -e 64K -n 2 --limit -J " + path, "WEIR_FAKE_GPUS=1");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(result.text,
              ContainsRegex("# Limit: .*0000:1b:00. Stand-in with 2 ranks reads and writes [0-9.]+ GB/s"));
  EXPECT_THAT(result.text, HasSubstr("    limit   of it     limit   of it"));
  std::ifstream file(path);
  const auto row = nlohmann::json::parse(file)["results"][0];
  const double limit = row["limit"]["in_place"]["time"], time = row["in_place"]["time"];
  EXPECT_GT(limit, 0);
  EXPECT_NEAR(row["limit"]["in_place"]["percent"].get<double>(), 100 * limit / time, 0.01);
  std::filesystem::remove(path);
}

TEST(DeviceOptions, AreRefusedWithASentence) {
  const std::string program = WEIR_PERF_FOLDER "/all_reduce_perf ";
  EXPECT_THAT(run_command(program + "--device gpu 2>&1").text, HasSubstr("expected host, cuda or hip"));
  EXPECT_THAT(run_command(program + "--device cuda -y 1 -G 1 2>&1").text,
              HasSubstr("stream 0 cannot be captured"));
  EXPECT_THAT(run_command(program + "--limit 2>&1").text, HasSubstr("add --device cuda or --device hip"));
  EXPECT_THAT(on_gpus("cuda", "all_reduce_perf -R 2 -D 1").text,
              HasSubstr("this program has no such kernel"));
}

}  // namespace
}  // namespace weir::perf
