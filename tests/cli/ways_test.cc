// SPDX-License-Identifier: Apache-2.0
// The ways of moves in plan files, as users of weir plan, verify, sim and explain see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/cli/weir_command.h"

namespace weir::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using weir::testing::CommandResult;
using weir::testing::weir_command;

constexpr const char* kMachine = "'(4 gpu nvswitch 300)' ";
constexpr const char* kCluster = "'2 x (2 gpu mesh 100, 2 nic 25) leaf' ";

class PlanWays : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / ("ways" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << text;
    return path;
  }
  static std::string emitted(const std::string& topology) {
    const CommandResult result = weir_command("plan " + topology + "--collective allgather --emit plan");
    EXPECT_EQ(result.code, 0) << result.text;
    return result.text;
  }
  static std::string changed(const std::string& text, const char* from, const char* to) {
    return std::regex_replace(text, std::regex(from), to);
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(PlanWays, EachMoveBetweenGpusNamesIts) {
  for (const char* topology : {kMachine, kCluster}) {
    const std::string text = emitted(topology);
    EXPECT_FALSE(std::regex_search(text, std::regex("\n[0-9]+ (send|push|pull) [^\n]*[0-9]\n"))) << text;
    EXPECT_THAT(text, HasSubstr(" by nvlink\n"));
  }
  EXPECT_THAT(emitted(kCluster), HasSubstr(" by net\n"));
  EXPECT_THAT(emitted(kMachine), Not(HasSubstr(" by net\n")));
  EXPECT_THAT(emitted("'(4 gpu pcie 32)' "), HasSubstr(" by pcie\n"));
}

TEST_F(PlanWays, VerifyNamesTheMoveWhoseWayIsMissing) {
  const std::string plan = write("plan", emitted(kMachine));
  EXPECT_EQ(weir_command("verify " + plan + " --topology " + kMachine).code, 0);
  const std::string wrong = write("wrong", changed(emitted(kMachine), " by nvlink\n", " by net\n"));
  EXPECT_EQ(weir_command("verify " + wrong).code, 0) << "without a topology ways are not checked";
  const CommandResult result = weir_command("verify " + wrong + " --topology " + kMachine);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text,
              ::testing::ContainsRegex("wrong: move [0-9]+ goes by net, but the path from rank"));
  const CommandResult many = weir_command("verify " + plan + " --topology '(8 gpu nvswitch 300)'");
  EXPECT_EQ(many.code, 1);
  EXPECT_THAT(many.text, HasSubstr("the plan is for 4 ranks, but the topology has 8"));
  EXPECT_EQ(weir_command("verify " + plan + " --topology '(8 gpu nvswitch 300)' --ranks 2-5").code, 0);
  const CommandResult unknown =
      weir_command("verify " + write("x", changed(emitted(kMachine), "nvlink", "air")));
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.text, HasSubstr("expected \"nvlink\", \"xgmi\", \"pcie\" or \"net\""));
}

TEST_F(PlanWays, SimAndExplainFollowThem) {
  const std::string named = emitted(kCluster);
  const auto sim = [&](const std::string& text) {
    return weir_command(std::string("sim ") + kCluster + "--collective allgather --json --plan " +
                        write("plan", text));
  };
  const CommandResult with = sim(named), without = sim(changed(named, " by [a-z]+\n", "\n"));
  ASSERT_EQ(with.code, 0) << with.text;
  const double seconds = nlohmann::json::parse(with.text)["seconds"];
  EXPECT_EQ(nlohmann::json::parse(without.text)["seconds"], seconds) << "plans without ways run as before";
  // The driver gives these GPUs NVLink.
  const std::string over_pcie = changed(named, " by nvlink\n", " by pcie\n");
  for (const CommandResult& pcie :
       {sim(over_pcie), weir_command(std::string("explain ") + kCluster + "--collective allgather --plan " +
                                     write("pcie", over_pcie))}) {
    EXPECT_EQ(pcie.code, 2);
    EXPECT_THAT(pcie.text, ::testing::ContainsRegex("move [0-9]+ goes by pcie, but no path leads from rank"));
  }
  const CommandResult refused = sim(changed(named, " by nvlink\n", " by xgmi\n"));
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.text, HasSubstr("by xgmi in this topology"));
}

}  // namespace
}  // namespace weir::cli
