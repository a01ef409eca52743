// SPDX-License-Identifier: Apache-2.0

#include "src/base/status.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

Status failure() { return {Code::invalid_usage, "why"}; }

TEST(Status, SuccessHasNoSentence) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::success);
  EXPECT_EQ(status.message(), "");
}

TEST(Status, CopiesAreAlike) {
  Status first = failure();
  const Status second = first;
  first = Status();
  EXPECT_TRUE(first.ok());
  EXPECT_EQ(second.code(), Code::invalid_usage);
  EXPECT_EQ(second.message(), "why");
  first = second;
  EXPECT_EQ(first.message(), "why");
  const Status& same = first;
  first = same;
  EXPECT_EQ(first.message(), "why") << "assigned to itself";
}

TEST(Result, IsAValueOrAnError) {
  Result<std::string> value = std::string("it");
  EXPECT_TRUE(value.ok());
  EXPECT_TRUE(value.status().ok());
  EXPECT_EQ(*value, "it");
  EXPECT_EQ(value->size(), 2u);
  const Result<std::string> error = failure();
  EXPECT_FALSE(error.ok());
  EXPECT_EQ(error.status().message(), "why");
}

Status passes_on(const Status& status, bool& went_on) {
  WEIR_TRY(status);
  went_on = true;
  return {};
}

TEST(Status, TryLeavesWithTheError) {
  bool went_on = false;
  EXPECT_EQ(passes_on(failure(), went_on).message(), "why");
  EXPECT_FALSE(went_on);
  EXPECT_TRUE(passes_on({}, went_on).ok());
  EXPECT_TRUE(went_on);
}

}  // namespace
}  // namespace weir
