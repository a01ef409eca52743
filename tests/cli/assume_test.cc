// SPDX-License-Identifier: Apache-2.0
// Commands that plan with assumed rates, as their users see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "tests/cli/weir_command.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using weir::testing::CommandResult;
using weir::testing::weir_command;

class Assume : public ::testing::Test {
 protected:
  Assume() { std::ofstream(file_) << "        GPU0 GPU1\nGPU0     X   NV12\nGPU1    NV12  X\n"; }
  ~Assume() override { std::remove(file_.c_str()); }

  const std::string file_ = ::testing::TempDir() + "assume_" + std::to_string(getpid()) + ".txt";
};

TEST_F(Assume, OneLineNamesTheRates) {
  for (const char* command : {"plan", "explain", "sim"}) {
    const CommandResult result = weir_command(std::string(command) + " " + file_ + " --collective allgather");
    EXPECT_EQ(result.code, 0) << result.text;
    EXPECT_THAT(result.text, HasSubstr("note: assumed: NVLink 25 GB/s per link (NVLink 3), PCIe 31.5 GB/s"))
        << command;
  }
}

TEST_F(Assume, TheOptionCounts) {
  const std::string plan = "plan " + file_ + " --collective allgather ";
  const CommandResult slow = weir_command(plan + "--assume nvlink=1,pcie=0.5");
  EXPECT_THAT(slow.text, AllOf(HasSubstr("NVLink 1 GB/s per link (as given)"), HasSubstr("24 GB/s (algbw)")));
  const CommandResult bad = weir_command(plan + "--assume nvlink=fast");
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.text, HasSubstr("--assume: nvlink is \"fast\"; expected GB/s"));
}

TEST_F(Assume, AHostWithoutGpusIsOneRank) {
  const CommandResult result = weir_command("plan '(2 nic 50)'");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.text, HasSubstr("note: ranks: the topology has one host and no GPUs"));
}

TEST_F(Assume, NothingIsAssumedWhereRatesAreKnown) {
  const CommandResult result =
      weir_command("plan '(4 gpu mesh 100)' --collective allgather --assume nvlink=1");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text, Not(HasSubstr("note: assumed")));
}

TEST_F(Assume, CommandsThatShowDoNotAssume) {
  EXPECT_THAT(weir_command("topo " + file_).text, Not(HasSubstr("25 GB/s")));
  EXPECT_NE(weir_command("topo " + file_ + " --assume nvlink=1").code, 0);
}

}  // namespace
}  // namespace weir::cli
