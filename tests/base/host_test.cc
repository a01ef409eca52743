// SPDX-License-Identifier: Apache-2.0

#include "src/base/host.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "src/base/clock.h"
#include "src/base/text.h"

namespace weir {
namespace {

TEST(Host, IdentityIsStableAndCanBeReplaced) {
  EXPECT_EQ(host_identity(""), host_identity(""));
  EXPECT_EQ(host_identity("a"), host_identity("a"));
  EXPECT_NE(host_identity("a"), host_identity("b"));
  EXPECT_NE(host_identity("a"), host_identity(""));
}

TEST(Host, KnowsItsOwnFile) { EXPECT_TRUE(own_file().ends_with("base_test")) << own_file(); }

TEST(Host, NamesHaveNoDots) {
  EXPECT_FALSE(short_hostname().empty());
  EXPECT_EQ(short_hostname().find_first_of("./%"), std::string::npos);
}

TEST(Host, CoresFollowTheAffinityMask) {
  const int before = usable_cores(allowed_cores());
  EXPECT_GE(before, 1);
  cpu_set_t old, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof old, &old), 0);
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cores(allowed_cores()), 1);
  sched_setaffinity(0, sizeof old, &old);
  EXPECT_EQ(usable_cores(allowed_cores()), before);
}

TEST(Host, RandomBitsDiffer) { EXPECT_NE(random_bits(), random_bits()); }

TEST(Deadline, EndsByTimeOrFlag) {
  std::atomic<bool> abort{false};
  EXPECT_FALSE(Deadline::never().over());
  EXPECT_FALSE(Deadline::in_ms(60'000).over());
  EXPECT_TRUE(Deadline::in_ms(0).over());
  const Deadline never = Deadline::never(&abort);
  const Deadline sooner = never.within_ms(60'000);
  EXPECT_EQ(never.slice_ms(20), 20);
  EXPECT_EQ(sooner.slice_ms(20), 20);
  EXPECT_EQ(sooner.within_ms(-1).slice_ms(20), 0);
  EXPECT_LT(sooner.ns(), never.ns());
  EXPECT_FALSE(sooner.over());
  abort = true;
  EXPECT_TRUE(never.over());
  EXPECT_TRUE(sooner.aborted());
  EXPECT_FALSE(sooner.passed());
}

TEST(Text, ListsAreSplit) {
  using List = std::vector<std::string_view>;
  EXPECT_EQ(split_list("a,bc,d"), (List{"a", "bc", "d"}));
  EXPECT_EQ(split_list(",a,,b,"), (List{"a", "b"}));
  EXPECT_EQ(split_list(""), List{});
  EXPECT_TRUE(equals_ignoring_case("InFo", "iNfO"));
  EXPECT_FALSE(equals_ignoring_case("info", "info "));
}

}  // namespace
}  // namespace weir
