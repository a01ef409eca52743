// SPDX-License-Identifier: Apache-2.0

#include "src/base/host.h"

#include <gtest/gtest.h>
#include <sched.h>

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

}  // namespace
}  // namespace weir
