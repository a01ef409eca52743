// weir plan as its users see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/command.h"

namespace weir::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using weir::testing::CommandResult;
using weir::testing::run_command;

CommandResult plan(const std::string& arguments) {
  return run_command(WEIR_PROGRAM " plan " + arguments + " 2>&1");
}

TEST(Plan, SaysWhatIsReachedAndWhatLimitsIt) {
  const CommandResult result = plan("'(4 gpu mesh 100)' --collective allgather --bytes 4G");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text,
              AllOf(StartsWith("all_gather of 4294967296 bytes over 4 ranks"), HasSubstr("spanning trees"),
                    HasSubstr("GB/s (busbw)"), HasSubstr("limit"), HasSubstr("of the bound")));
}

TEST(Plan, SaysHowManyHostsDoIt) {
  const CommandResult result =
      plan("'16 x (8 gpu nvswitch 300, 8 nic 25) rail leaf by 4 4:1' --collective allgather");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(
      result.text,
      AllOf(HasSubstr("plan         in hosts 8 trees, between hosts rings over 8 rails, leaf by leaf"),
            HasSubstr("nothing can be faster")));
}

TEST(Plan, AsJsonHasExactFigures) {
  const CommandResult result =
      plan("'4 x (1 gpu pcie 50, 1 nic 25) leaf' --collective broadcast --root 1 --json");
  ASSERT_EQ(result.code, 0) << result.text;
  const auto json = nlohmann::json::parse(result.text);
  EXPECT_EQ(json["ranks"], 4);
  EXPECT_EQ(json["bound_GBps"], 25);
  EXPECT_EQ(json["algbw_GBps"], 25);
  EXPECT_EQ(json["ratio_exact"], "1");
  EXPECT_THAT(json["certificate"].get<std::string>(), HasSubstr("cable"));
}

TEST(Plan, EmitsAPlan) {
  const CommandResult result = plan("'4 x (1 gpu pcie 50, 1 nic 25) leaf' --ranks 0,2-3 --emit");
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.text, AllOf(HasSubstr("all_reduce"), HasSubstr("3")));
}

TEST(Plan, RefusesWhatCannotBe) {
  const std::string machine = "'4 x (1 gpu pcie 50, 1 nic 25) leaf' ";
  const std::pair<const char*, const char*> kWrong[] = {
      {"--collective allsum", "--collective is \"allsum\"; expected allreduce"},
      {"--ranks 0,x", "--ranks has \"x\"; expected numbers"},
      {"--ranks 0-9", "the topology has devices 0 to 3"},
      {"--ranks 1,1", "expected a device for each"},
      {"--ranks 2", "one rank alone"},
      {"--bytes -5", "--bytes is"},
      {"--collective broadcast --root 7", "root"}};
  for (const auto& [arguments, words] : kWrong) {
    const CommandResult result = plan(machine + arguments);
    EXPECT_EQ(result.code, 2) << arguments;
    EXPECT_THAT(result.text, HasSubstr(words)) << arguments;
  }
}

}  // namespace
}  // namespace weir::cli
