// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/rejections.h"

#include <gmock/gmock.h>

#include "src/base/clock.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kSecond = 1'000 * kNsPerMs;

TEST(Rejections, AreLoggedOncePerSecondAndReason) {
  Rejections rejections;
  int64_t now = 5 * kSecond;
  const auto first = rejections.add("no secret", "10.0.0.1:9", now);
  ASSERT_TRUE(first.has_value());
  EXPECT_THAT(*first, HasSubstr("rejected a connection from 10.0.0.1:9: no secret"));
  EXPECT_THAT(*first, Not(HasSubstr("more")));
  for (int i = 0; i < 999; ++i) EXPECT_FALSE(rejections.add("no secret", "10.0.0.1:9", ++now).has_value());
  EXPECT_TRUE(rejections.add("idle", "10.0.0.2:9", now).has_value()) << "another reason";
  now += kSecond;
  EXPECT_THAT(rejections.add("no secret", "10.0.0.3:9", now).value_or(""), HasSubstr("(999 more since"));
  EXPECT_THAT(rejections.add("no secret", "10.0.0.3:9", now + kSecond).value_or(""), Not(HasSubstr("more")));
}

}  // namespace
}  // namespace weir
