// SPDX-License-Identifier: Apache-2.0
// The comparison with RCCL's plans, over the project's own machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/cli/command.h"

namespace weir {
namespace {

using testing::CommandResult;
using ::testing::HasSubstr;
using testing::run_command;

constexpr const char* kMachines = WEIR_SOURCE_DIR "/tests/topology/machines";

CommandResult compared(const std::string& figures) {
  return run_command(std::string(WEIR_AGAINST_RCCL) + " " + figures + " /nowhere " + kMachines + " 2>&1");
}

/// With one row after the title.
CommandResult compared_with(const std::string& row) {
  const std::string file = ::testing::TempDir() + "against_rccl.csv";
  std::ofstream(file) << "machine,hand,generic,rings,cut,hand2,generic2\n" << row << "\n";
  return compared(file);
}

TEST(AgainstRccl, NoMachineIsWorse) {
  const CommandResult result = compared(WEIR_SOURCE_DIR "/tests/bench/planner/rccl.csv");
  EXPECT_EQ(result.code, 0) << result.text;
  EXPECT_THAT(result.text, HasSubstr("one node: 3 of 3 machines found, worse on 0, refused 0"));
  EXPECT_THAT(result.text, ::testing::Not(HasSubstr("links differ")));
}

TEST(AgainstRccl, SaysWhatIsWorseRefusedOrNotTheSame) {
  CommandResult result = compared_with("mi300x,336,385,-,384,-,-");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, HasSubstr("WORSE"));
  result = compared_with("mi300x,-,-,-,380,-,-");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text, HasSubstr("links differ from RCCL's: cut 384.0, RCCL's 380.0"));
  EXPECT_EQ(compared_with("nothing_here,1,1,1,1,1,1").code, 1);
  result = compared_with("mi300x,336,fast,-,384,-,-");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(
      result.text,
      HasSubstr("against_rccl.csv:2: invalid line \"mi300x,336,fast,-,384,-,-\"; expected machine,hand"));
  EXPECT_EQ(compared_with("mi300x,336").code, 2);
  EXPECT_EQ(compared("/no/such/file").code, 2);
}

}  // namespace
}  // namespace weir
