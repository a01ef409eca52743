// SPDX-License-Identifier: Apache-2.0
// weir order as its users see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/cli/command.h"
#include "tests/cli/weir_command.h"

#include <unistd.h>

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using weir::testing::CommandResult;
using weir::testing::run_command;
using weir::testing::weir_command;

/// host0 and host1 are below leaf0, host2 and host3 below leaf1.
constexpr const char* kNetwork = "'4 x (2 gpu nvswitch 300, 2 nic 25) leaf by 2 4:1 spine 2' ";
constexpr const char* kAlternating = "--hosts host2,host0,host3,host1 ";

/// Standard output alone.
std::string file_of(const std::string& arguments) {
  const CommandResult result = run_command("'" WEIR_PROGRAM "' order " + arguments + " 2>/dev/null");
  EXPECT_EQ(result.code, 0) << result.text;
  return result.text;
}

TEST(Order, WritesHostfiles) {
  const std::string task = std::string(kNetwork) + kAlternating;
  EXPECT_EQ(file_of(task), "host2 slots=2\nhost3 slots=2\nhost0 slots=2\nhost1 slots=2\n");
  EXPECT_EQ(file_of(task + "--format mpich"), "host2:2\nhost3:2\nhost0:2\nhost1:2\n");
  EXPECT_EQ(file_of(task + "--slots 1 --format slurm"), "host2\nhost3\nhost0\nhost1\n");
  EXPECT_EQ(file_of(task + "--format slurm"), "host2\nhost2\nhost3\nhost3\nhost0\nhost0\nhost1\nhost1\n");
}

TEST(Order, WritesRankfiles) {
  EXPECT_EQ(file_of(std::string(kNetwork) + "--ranks 4,0-1,6,2 --format openmpi-rankfile"),
            "rank 0=host2 slot=0\nrank 1=host3 slot=0\nrank 2=host0 slot=0\nrank 3=host0 slot=1\n"
            "rank 4=host1 slot=0\n");
}

TEST(Order, WritesLabels) {
  EXPECT_EQ(file_of(std::string(kNetwork) + "--hosts host[1-2] --format kubernetes"),
            "kubectl label --overwrite node host1 weir.io/l1=leaf0 weir.io/l2=spine0 weir.io/order=0\n"
            "kubectl label --overwrite node host2 weir.io/l1=leaf1 weir.io/l2=spine0 weir.io/order=1\n");
}

TEST(Order, SaysWhatItGains) {
  EXPECT_THAT(weir_command("order " + std::string(kNetwork) + kAlternating).text,
              HasSubstr("8 ranks on 4 hosts, which form 2 groups with the same leaf switches; in a ring of "
                        "the ranks 2 of 8 neighbours are in different groups, and 4 in the given order"));
  EXPECT_THAT(weir_command("order '2 x (4 gpu mesh 100, 1 nic 25) leaf'").text,
              HasSubstr("all hosts have the same leaf switches, or none are known"));
}

/// Hosts without GPUs, attached to switches whose names are no values of labels.
class OrderOfFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(path_) << "weir fabric 1\nspine s\nleaf \"rack 1/\",\"rack 1_\",\"rack 1-a\",\"rack 1 a\"\n"
                            "host n[0-3]\ncable \"rack 1/\",\"rack 1_\",\"rack 1-a\",\"rack 1 a\" to s 400G\n"
                            "attach n0 to \"rack 1/\" 100G\nattach n1 to \"rack 1_\" 100G\n"
                            "attach n2 to \"rack 1-a\" 100G\nattach n3 to \"rack 1 a\" 100G\n";
  }
  void TearDown() override { std::filesystem::remove(path_); }
  const std::string path_ = ::testing::TempDir() + "order" + std::to_string(getpid());
};

TEST_F(OrderOfFile, LabelsAreValidAndDiffer) {
  const std::string text = file_of(path_ + " --format kubernetes");
  EXPECT_THAT(text, HasSubstr("node n0 weir.io/l1=rack-1 weir.io/l2=s "));
  EXPECT_THAT(text, HasSubstr("node n1 weir.io/l1=rack-1-1 weir.io/l2=s "));
  EXPECT_THAT(text, HasSubstr("node n2 weir.io/l1=rack-1-a weir.io/l2=s "));
  EXPECT_THAT(text, HasSubstr("node n3 weir.io/l1=rack-1-a-1 weir.io/l2=s "));
}

TEST_F(OrderOfFile, HostsWithoutGpusHaveOneSlot) {
  EXPECT_EQ(file_of(path_ + " --hosts n3,n1"), "n3 slots=1\nn1 slots=1\n");
  EXPECT_EQ(file_of(path_ + " --hosts n3,n1 --slots 8"), "n3 slots=8\nn1 slots=8\n");
}

TEST(Order, RefusesWhatCannotBe) {
  const std::pair<const char*, const char*> kWrong[] = {
      {"--hosts host0,host9", "--hosts has host9, which is not in the topology; its first host is host0"},
      {"--hosts host[0-1],host1", "--hosts has host1 twice"},
      {"--hosts 'host['", "--hosts: "},
      {"--ranks 0-8", "the topology has devices 0 to 7"},
      {"--ranks 0 --hosts host0", "excludes"},
      {"--ranks 0 --slots 2", "excludes"},
      {"--slots 0", "--slots"},
      {"--format pbs",
       "\"pbs\" is not known; expected one of hostfile, openmpi-rankfile, mpich, slurm, kubernetes"}};
  for (const auto& [arguments, words] : kWrong) {
    const CommandResult result = weir_command("order " + std::string(kNetwork) + arguments);
    EXPECT_EQ(result.code, 2) << arguments;
    EXPECT_THAT(result.text, HasSubstr(words)) << arguments;
    EXPECT_THAT(result.text, Not(HasSubstr("slots="))) << arguments;
  }
}

}  // namespace
}  // namespace weir::cli
