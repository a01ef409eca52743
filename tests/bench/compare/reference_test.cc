// SPDX-License-Identifier: Apache-2.0
// The references and the limit must compute right, or they show nothing: sizes around every border of their
// ways, all checked by the program itself.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/base/sanitized.h"

namespace {

constexpr const char* kSizes = "4,60,224,228,1000,8192,16384,16388,65536,300004,2000004";

/// The exit code of the reference program, which is not 0 when any element is wrong.
int reference(const std::string& environment, int ranks, const std::string& mode) {
  const std::string command = environment + " timeout 100 " WEIR_REFERENCE " --budget-ms 0.1 --sizes " +
                              kSizes + " --ranks " + std::to_string(ranks) + " --mode " + mode +
                              " > /dev/null";
  return std::system(command.c_str());
}

/// Numbers of ranks. Processes that wait for each other in turn are slow where a sanitizer watches them.
std::vector<int> teams() { return weir::testing::kSanitized ? std::vector{3} : std::vector{2, 3, 4}; }

class Reference : public testing::TestWithParam<const char*> {};

TEST_P(Reference, IsRight) {
  for (const int ranks : teams()) EXPECT_EQ(reference("", ranks, GetParam()), 0) << ranks << " ranks";
}

TEST_P(Reference, IsRightWhenItStreams) {
  for (const int ranks : teams()) {
    EXPECT_EQ(
        reference("REFERENCE_STREAM=20000 REFERENCE_BLOCK=65536 REFERENCE_DIRECT=64", ranks, GetParam()), 0)
        << ranks << " ranks";
  }
}

TEST_P(Reference, IsRightInSmallTiles) {
  EXPECT_EQ(reference("REFERENCE_ONE_SHOT=256 REFERENCE_BLOCK=4096 REFERENCE_TILE=1024", 3, GetParam()), 0);
}

INSTANTIATE_TEST_SUITE_P(Modes, Reference, testing::Values("private", "shared"));

class Limit : public testing::TestWithParam<const char*> {};

TEST_P(Limit, IsRight) {
  for (const int ranks : teams()) {
    const std::string command =
        std::string("timeout 100 " WEIR_LIMIT " --budget-ms 0.1 --ops all_reduce,all_gather,") +
        "reduce_scatter,broadcast,reduce,all_to_all,gather,scatter,sendrecv --sizes " + kSizes + " --ranks " +
        std::to_string(ranks) + " --mode " + GetParam() + " > /dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Limit, testing::Values("cached", "streaming"));

TEST(LimitProgram, RefusesNonsense) {
  EXPECT_NE(std::system("timeout 100 " WEIR_LIMIT " --ranks 1"), 0);
  EXPECT_NE(std::system("timeout 100 " WEIR_LIMIT " --mode sometimes"), 0);
}

TEST(ReferenceProgram, RefusesNonsense) {
  EXPECT_NE(reference("", 1, "private"), 0);
  EXPECT_NE(reference("", 2, "public"), 0);
}

}  // namespace
