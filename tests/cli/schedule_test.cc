// SPDX-License-Identifier: Apache-2.0
// weir verify, explain and sim as their users see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/weir_command.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using weir::testing::CommandResult;
using weir::testing::weir_command;

constexpr const char* kMachine = "'(4 gpu mesh 100)' ";

class Schedule : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / ("schedule" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    for (const std::string form : {"plan", "msccl-xml", "mscclpp-json"}) {
      const CommandResult made =
          weir_command("plan " + std::string(kMachine) + "--collective allreduce --emit " + form);
      ASSERT_EQ(made.code, 0) << made.text;
      write(form, made.text);
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(Schedule, VerifyProvesAllForms) {
  const CommandResult result =
      weir_command("verify " + path("plan") + " " + path("msccl-xml") + " " + path("mscclpp-json"));
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text,
              AllOf(HasSubstr("plan: right: all_reduce over 4 ranks"),
                    HasSubstr("msccl-xml: right: all_reduce over 4 ranks"),
                    HasSubstr("mscclpp-json: right: all_reduce over 4 ranks"), HasSubstr("2 slots")));
}

TEST_F(Schedule, VerifyNamesTheFirstLie) {
  std::string lie = read("plan");
  const size_t at = lie.find(" with input 0");
  ASSERT_NE(at, std::string::npos);
  lie.replace(at, 13, " with input 1");
  write("lie", lie);
  const CommandResult result = weir_command("verify " + path("lie") + " " + path("plan"));
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.text, AllOf(HasSubstr("lie: wrong: "), HasSubstr("chunk"), HasSubstr("plan: right")));
}

TEST_F(Schedule, VerifyRefusesWhatIsNoPlan) {
  write("nonsense", "weir plan 7\n");
  write("cut", read("msccl-xml").substr(0, 400));
  write("no-json", read("mscclpp-json").substr(0, 400));
  for (const std::string name : {"nonsense", "cut", "no-json", "missing"}) {
    const CommandResult result = weir_command("verify " + path(name));
    EXPECT_EQ(result.code, 2) << name;
    EXPECT_THAT(result.text, HasSubstr(path(name)));
  }
}

TEST_F(Schedule, ExplainSaysWhatLinksCarry) {
  const CommandResult trees =
      weir_command("explain " + std::string(kMachine) + "--collective allgather --bytes 4G");
  EXPECT_EQ(trees.code, 0);
  EXPECT_THAT(trees.text, AllOf(HasSubstr("by trees"), HasSubstr("100%"),
                                HasSubstr("NVLink from a GPU to a GPU"), HasSubstr("bound")));
  // Each of the ring's 4 links carries 3/4 of 4 GiB twice.
  const CommandResult ring = weir_command("explain " + std::string(kMachine) + "--algorithm ring --bytes 4G");
  EXPECT_THAT(ring.text, AllOf(HasSubstr("bound / plan "), HasSubstr("by ring"),
                               HasSubstr("6.44 GB      100      4  NVLink")));
  // Six rings: each of the 12 links carries a half of 4 GiB.
  const CommandResult rings =
      weir_command("explain " + std::string(kMachine) + "--algorithm ring_set --bytes 4G");
  EXPECT_THAT(rings.text, AllOf(HasSubstr("by ring_set"), HasSubstr("2.15 GB      100     12  NVLink")));
  const CommandResult kind =
      weir_command("explain " + std::string(kMachine) + "--collective allgather --plan " + path("plan"));
  EXPECT_EQ(kind.code, 2);
  EXPECT_THAT(kind.text, HasSubstr("is a plan for all_reduce; use --collective all_reduce"));
  const CommandResult switched = weir_command("explain '(4 gpu nvswitch 100)' --algorithm ring");
  EXPECT_THAT(switched.text, HasSubstr("bound / plan "));
  const CommandResult groups =
      weir_command("explain '4 x (1 gpu pcie 50, 1 nic 25) leaf by 2 4:1 spine 1' --algorithm hierarchical");
  EXPECT_THAT(groups.text, HasSubstr("bound / plan 1: nothing can be faster"));
  const CommandResult other = weir_command("explain '(2 gpu mesh 100)' --plan " + path("plan"));
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.text, HasSubstr("is a plan for 4 ranks, but the topology has 2"));
}

TEST_F(Schedule, SimPredictsARing) {
  const CommandResult result =
      weir_command("sim " + std::string(kMachine) + "--algorithm ring --bytes 4000000000 --latency 0 --json");
  ASSERT_EQ(result.code, 0) << result.text;
  const auto json = nlohmann::json::parse(result.text);
  EXPECT_NEAR(json["seconds"].get<double>(), 6e9 / 100e9, 1e-9);
  EXPECT_NEAR(json["busbw_GBps"].get<double>(), 100, 1e-6);
  // Three messages of one byte, one after the other, over one NVLink each, and the same for the sums.
  const CommandResult small =
      weir_command("sim " + std::string(kMachine) + "--algorithm ring --bytes 4 --json");
  EXPECT_NEAR(nlohmann::json::parse(small.text)["seconds"].get<double>(), 6 * (1e-6 + 0.6e-6), 1e-9);
  EXPECT_THAT(weir_command("sim " + std::string(kMachine) + "--algorithm ring").text,
              AllOf(HasSubstr("with 4 slots of "), HasSubstr("assumed: NVLink 0.6, message 1 us")));
}

TEST_F(Schedule, SimPredictsAJob) {
  write("job", "# one step\ncompute 5 ms\nallgather 400000000 ring\ncompute 2 ms\n");
  const CommandResult result =
      weir_command("sim " + std::string(kMachine) + "--latency 0 --json --job " + path("job"));
  ASSERT_EQ(result.code, 0) << result.text;
  const auto json = nlohmann::json::parse(result.text);
  EXPECT_NEAR(json["computing"].get<double>(), 7e-3, 1e-12);
  EXPECT_NEAR(json["communicating"].get<double>(), 3e-3, 1e-9);
  EXPECT_EQ(json["steps"], 2);
  const std::pair<const char*, const char*> kWrong[] = {
      {"compute 5\n", "job:1: expected \"compute NUMBER ms\""},
      {"\nallsum 5\n", "job:2: \"allsum\" is neither"},
      {"allgather 5x\n", "is not a number of bytes"},
      {"allgather 5 rong\n", "\"rong\""}};
  for (const auto& [text, sentence] : kWrong) {
    write("job", text);
    const CommandResult wrong = weir_command("sim " + std::string(kMachine) + "--job " + path("job"));
    EXPECT_EQ(wrong.code, 2) << text;
    EXPECT_THAT(wrong.text, AllOf(HasSubstr(sentence), Not(HasSubstr("time "))));
  }
}

}  // namespace
}  // namespace weir::cli
