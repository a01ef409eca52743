// SPDX-License-Identifier: Apache-2.0
/// Requires of a test program that it runs each kernel of a library, and prints how much of each it ran.
/// Tests: tests/gpu/ptx/lanes_test.cc
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/gpu/ptx/control.h"

namespace weir::ptx {

class CoverageCheck final : public ::testing::Environment {
 public:
  /// `list` returns what was executed so far.
  explicit CoverageCheck(std::vector<Coverage> (*list)()) : list_(list) {}

  void TearDown() override {
    const bool all = ::testing::GTEST_FLAG(filter) == "*" && getenv("GTEST_TOTAL_SHARDS") == nullptr;
    for (const Coverage& kernel : list_()) {
      fmt::print("{:<22}{:>7} of {:>6} instructions ran ({:.0f}%)\n", kernel.name, kernel.executed,
                 kernel.instructions, 100.0 * kernel.executed / kernel.instructions);
      EXPECT_TRUE(!all || kernel.executed > 0) << "no test runs " << kernel.name;
    }
  }

 private:
  std::vector<Coverage> (*const list_)();
};

}  // namespace weir::ptx
