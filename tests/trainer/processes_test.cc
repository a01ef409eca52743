// SPDX-License-Identifier: Apache-2.0
/// Training as processes: canonical bits over transports and hosts, and death at any call of a save.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/cli/command.h"
#include "tests/trainer/dying_files.h"
#include "tests/trainer/temporary_folder.h"

namespace weir::checkpoint {
namespace {

using ::testing::HasSubstr;

/// What `toy_program` printed as `ranks` processes.
weir::testing::CommandResult toy(int ranks, const std::string& arguments, const std::string& before = "",
                                 const std::string& options = "") {
  return weir::testing::run_command(fmt::format("{} '{}' run -n {} --plain {} -- '{}' {} 2>&1", before,
                                                WEIR_PROGRAM, ranks, options, WEIR_TOY, arguments));
}

std::string undisturbed() {
  static const std::string text = toy(1, "NO_SHARD 0 3").text;
  EXPECT_THAT(text, HasSubstr("bits "));
  return text;
}

TEST(ShardProcesses, BitsAreTheSameOverTransportsAndHosts) {
  EXPECT_EQ(toy(2, "FULL_SHARD 0 3").text, undisturbed());
  EXPECT_EQ(toy(3, "SHARD_GRAD_OP 0 3", "WEIR_TRANSPORTS=loop,tcp").text, undisturbed());
  EXPECT_EQ(toy(4, "HYBRID_SHARD 0 3", "", "--nodes 2").text, undisturbed());
  EXPECT_EQ(toy(4, "NO_SHARD 0 3", "WEIR_TRANSPORTS=loop,cma,shm").text, undisturbed());
}

TEST(ShardProcesses, HostsOfUnequalSizeAreRefused) {
  const weir::testing::CommandResult result = toy(3, "HYBRID_SHARD 0 3", "", "--nodes 2");
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.text, HasSubstr("needs groups of one size"));
}

TEST(CheckpointProcesses, SwitchesOfWorldAndStrategyDoNotChangeBits) {
  TemporaryFolder folder;
  EXPECT_THAT(toy(4, "FULL_SHARD 0 1 " + folder.path()).text, HasSubstr("of step 1, skipped 0"));
  EXPECT_THAT(toy(3, "NO_SHARD 0 2 " + folder.path()).text, HasSubstr("of step 2, skipped 0"));
  EXPECT_EQ(toy(2, "HYBRID_SHARD 1 3 " + folder.path()).text, undisturbed());
}

/// Of every kDeathShares calls one; the parameter is the number of the first.
constexpr int kDeathShares = 4;
class CheckpointDeath : public ::testing::TestWithParam<int> {};

/// The process dies at each of these calls; whoever comes next goes on from a complete checkpoint.
TEST_P(CheckpointDeath, AtAnyCallLeavesACompleteCheckpoint) {
  int fatal = GetParam();
  for (;; fatal += kDeathShares) {
    TemporaryFolder folder;
    const weir::testing::CommandResult died =
        toy(1, fmt::format("FULL_SHARD 0 2 {} 0 {}", folder.path(), fatal));
    if (died.code == 0) break;  // there are not so many calls
    ASSERT_EQ(died.code, DyingFiles::kExitCode) << died.text;
    ASSERT_EQ(toy(1, "NO_SHARD 0 3 " + folder.path()).text, undisturbed()) << "call " << fatal;
  }
  EXPECT_GT(fatal, 30);
}

INSTANTIATE_TEST_SUITE_P(From, CheckpointDeath, ::testing::Range(1, kDeathShares + 1));

TEST(CheckpointProcesses, DeathOfOneRankOfThreeLeavesACompleteCheckpoint) {
  for (int rank : {0, 2})
    for (int fatal : {3, 9, 20}) {
      TemporaryFolder folder;
      const weir::testing::CommandResult died =
          toy(3, fmt::format("FULL_SHARD 0 3 {} {} {}", folder.path(), rank, fatal));
      ASSERT_NE(died.code, 0) << rank << " " << fatal;
      ASSERT_EQ(toy(2, "SHARD_GRAD_OP 0 3 " + folder.path()).text, undisturbed()) << rank << " " << fatal;
    }
}

}  // namespace
}  // namespace weir::checkpoint
