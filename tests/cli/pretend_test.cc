// SPDX-License-Identifier: Apache-2.0
// weir run --pretend as its users see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/late_rank.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using weir::testing::weir_command;

/// Two hosts of two GPUs; a NIC carries 10 MB/s.
constexpr const char* kMachine = "'2 x (2 gpu nvswitch 0.1, 1 nic 0.01) leaf'";

std::string run_of(const std::string& ranks, const std::string& program,
                   const std::string& machine = kMachine) {
  return "run --pretend " + machine + " -n " + ranks + " -- " + program;
}

TEST(RunPretend, RanksFillTheHosts) {
  const auto run = weir_command(run_of(
      "3",
      R"(sh -c 'echo rank $RANK of $WORLD_SIZE: $LOCAL_RANK of $LOCAL_WORLD_SIZE, $WEIR_FAKE_GPUS GPUs')"));
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text,
              AllOf(HasSubstr("rank 0 of 3: 0 of 2, 2 GPUs"), HasSubstr("rank 1 of 3: 1 of 2, 2 GPUs"),
                    HasSubstr("rank 2 of 3: 0 of 1, 2 GPUs")));
  const auto alone = weir_command(run_of("1", R"(sh -c 'echo $WEIR_FAKE_GPUS GPUs of "$WEIR_PRETEND"')"));
  EXPECT_THAT(alone.text, HasSubstr("4 GPUs of 2 x (2 gpu nvswitch 0.1, 1 nic 0.01) leaf"));
}

TEST(RunPretend, WrongClustersAreRefusedBeforeAnythingRuns) {
  const auto many = weir_command(run_of("5", "echo here"));
  EXPECT_NE(many.code, 0);
  EXPECT_THAT(many.text,
              AllOf(HasSubstr("-n is 5, but the cluster of --pretend has 4 GPUs"), Not(HasSubstr("here"))));
  const auto nowhere = weir_command(run_of("2", "echo here", "/nowhere/dgx.xml"));
  EXPECT_NE(nowhere.code, 0);
  EXPECT_THAT(nowhere.text,
              AllOf(HasSubstr("there is no file /nowhere/dgx.xml"), Not(HasSubstr("[0] here"))));
  const auto both = weir_command("run --nodes 2 " + run_of("2", "echo here").substr(4));
  EXPECT_NE(both.code, 0);
  EXPECT_THAT(both.text, HasSubstr("--nodes"));
}

/// The rows of a table of the bench: bytes, and microseconds out of place.
std::vector<std::pair<double, double>> rows_of(const std::string& text) {
  std::vector<std::pair<double, double>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(std::min(line.size(), size_t{4})));  // behind "[0] "
    double bytes = 0, count = 0, root = 0, us = 0;
    std::string type, op;
    if (words >> bytes >> count >> type >> op >> root >> us) rows.emplace_back(bytes, us);
  }
  return rows;
}

double simulated_us(double bytes) {
  const auto sim = weir_command(std::string("sim ") + kMachine + " --collective allreduce --json --bytes " +
                                std::to_string(static_cast<uint64_t>(bytes)) + " 2>/dev/null");
  const auto json = nlohmann::json::parse(sim.text, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << sim.text;
  return json.is_discarded() ? 0 : json["seconds"].get<double>() * 1e6;
}

/// The bench shows what `weir sim` predicts: never less, and at least once not much more, however busy the
/// machine.
TEST(RunPretend, TheBenchShowsSimulatedTimes) {
  double worst = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto run = weir_command(run_of("4", WEIR_BENCH_PROGRAM " -b 256K -e 4M -f 4 -n 2 -w 1 -c 1"));
    ASSERT_EQ(run.code, 0) << run.text;
    EXPECT_THAT(run.text,
                HasSubstr("# PRETENDS to run on 2 x (2 gpu nvswitch 0.1, 1 nic 0.01) leaf (WEIR_PRETEND): "
                          "times are simulated, not measured"));
    const auto rows = rows_of(run.text);
    ASSERT_EQ(rows.size(), 3u) << run.text;
    worst = 0;
    for (const auto& [bytes, us] : rows) {
      const double simulated = simulated_us(bytes);
      EXPECT_GE(us, 0.995 * simulated) << bytes << " bytes; the bench rounds";
      worst = std::max(worst, us / simulated);
    }
    if (worst <= 1.1) break;
  }
  EXPECT_LE(worst, 1.1) << "in five attempts";
}

using PretendedJob = weir::testing::LateRank;

TEST_F(PretendedJob, PsAndTopSayThatItPretends) {
  Options options;
  options.pretended = "2 x (2 gpu nvswitch 450, 1 nic 50) leaf";
  start(options);
  for (const char* const command : {"ps", "top --once -i 0.1"}) {
    const std::string text = weir_command(command + pids()).text;
    EXPECT_THAT(text, HasSubstr("PRETENDS: its times are simulated, not measured; rank")) << command;
    EXPECT_THAT(text,
                HasSubstr("pretends to be GPU 0 of host0 of 2 x (2 gpu nvswitch 450, 1 nic 50) leaf\n"));
  }
}

}  // namespace
}  // namespace weir::cli
