// SPDX-License-Identifier: Apache-2.0
#include "trainer/run/launch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>

#include "tests/cli/command.h"
#include "trainer/run/shared_errors.h"

namespace weir::trainer {
namespace {

using ::testing::HasSubstr;

Lookup table(const std::map<std::string, std::string>& variables) {
  return [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

TEST(Launch, IsThatOfTheOptionsOrOfALauncher) {
  const Lookup none = table({}), one = table({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}),
               four = table({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  EXPECT_FALSE(*starts_ranks({}, none));
  EXPECT_FALSE(*starts_ranks({}, four));
  EXPECT_TRUE(*starts_ranks({.ranks = 4}, none));
  EXPECT_TRUE(*starts_ranks({.hosts = "a,b"}, none));
  EXPECT_TRUE(*starts_ranks({.hosts = "a,b"}, one)) << "a shell of srun";
  EXPECT_FALSE(*starts_ranks({.ranks = 4}, four));
  for (const Launch& launch : {Launch{.ranks = 4, .started = true}, Launch{.hosts = "a,b", .started = true}})
    for (const Lookup& variables : {none, one, four}) EXPECT_FALSE(*starts_ranks(launch, variables));
}

TEST(Launch, OfTwoLaunchersIsRefused) {
  for (const auto& [rank, size] : {std::pair{"RANK", "WORLD_SIZE"},
                                   {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE"},
                                   {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}}) {
    const Lookup variables = table({{rank, "1"}, {size, "2"}});
    const auto refused = starts_ranks({.hosts = "a,b"}, variables);
    EXPECT_EQ(refused.status().code(), Code::invalid_argument);
    EXPECT_THAT(refused.status().message(),
                HasSubstr(fmt::format("--hosts is a,b, but another launcher has started this process as one "
                                      "of 2 ranks ({}=1, {}=2)",
                                      rank, size)));
    EXPECT_THAT(starts_ranks({.ranks = 3}, variables).status().message(),
                HasSubstr(fmt::format("--ranks is 3, but by its variables ({}=1, {}=2)", rank, size)));
  }
}

TEST(Launch, OfProcessesIsRefusedToo) {
  const auto result = weir::testing::run_command(
      fmt::format("'{}' run -n 2 --plain -- '{}' --preset tiny --steps 1 --hosts localhost:2 2>&1",
                  WEIR_PROGRAM, WEIR_TRAIN_PROGRAM));
  EXPECT_EQ(result.code, 2) << result.text;
  EXPECT_THAT(result.text, HasSubstr("--hosts is localhost:2, but another launcher"));
}

TEST(Launch, OfRanksThatHaveTheSameErrorPrintsItOnce) {
  const auto result = weir::testing::run_command(
      fmt::format("'{}' --ranks 4 --preset tiny --data /no/text --steps 1 2>&1", WEIR_TRAIN_PROGRAM));
  EXPECT_EQ(result.code, 1) << result.text;
  const std::string error = "weir-train: /no/text: the text cannot be opened: No such file or directory\n";
  const size_t first = result.text.find(error);
  ASSERT_NE(first, std::string::npos) << result.text;
  EXPECT_EQ(result.text.find(error, first + 1), std::string::npos) << result.text;
}

TEST(SharedErrors, AreThoseOfTheFileOnly) {
  const int file = open_shared_errors();
  ASSERT_GE(file, 0);
  EXPECT_EQ(shared_errors_of(std::to_string(file)), file);
  for (const char* descriptor : {"", "-1", "2", "999999", "x", "3x"})
    EXPECT_EQ(shared_errors_of(descriptor), -1) << descriptor;
  const int other = dup(STDERR_FILENO);
  EXPECT_EQ(shared_errors_of(std::to_string(other)), -1) << "no such file";
  close(other);
  close(file);
}

TEST(SharedErrors, ArePrintedOnceEach) {
  const int file = open_shared_errors();
  ::testing::internal::CaptureStderr();
  for (const char* error : {"one", "two", "one", "on", "two"}) print_error(file, error);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "weir-train: one\nweir-train: two\nweir-train: on\n");
  ::testing::internal::CaptureStderr();
  for (const char* error : {"one", "one"}) print_error(-1, error);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "weir-train: one\nweir-train: one\n");
  close(file);
}

}  // namespace
}  // namespace weir::trainer
