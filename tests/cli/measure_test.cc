// SPDX-License-Identifier: Apache-2.0
// weir measure as people call it where it cannot measure. tests/topology/measure_test.py has the networks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/command.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
using weir::testing::CommandResult;
using weir::testing::run_command;

constexpr const char* kQuiet =
    "env -u RANK -u WORLD_SIZE -u OMPI_COMM_WORLD_RANK -u PMI_RANK -u SLURM_PROCID -u NCCL_COMM_ID -u "
    "NCCL_HOSTID ";

CommandResult measure(const std::string& before, const std::string& after = "") {
  return run_command(kQuiet + before + " '" + WEIR_PROGRAM + "' measure " + after + " 2>&1");
}

TEST(Measure, SaysWhatItNeeds) {
  const CommandResult alone = measure("");
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.text, HasSubstr("expected a launcher"));
  const CommandResult wrong = measure("RANK=2 WORLD_SIZE=2");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.text, HasSubstr("RANK is 2; expected 0 to 1"));
  const CommandResult nowhere = measure("RANK=0 WORLD_SIZE=2");
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.text, HasSubstr("NCCL_COMM_ID is not set"));
  EXPECT_EQ(measure("", "--repeat 2").code, 2);
}

TEST(Measure, OneHostHasNothingToMeasure) {
  const CommandResult said = measure(std::string("'") + WEIR_PROGRAM + "' run -n 3 --");
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.text, HasSubstr("all 3 processes run on one host"));
}

}  // namespace
}  // namespace weir::cli
