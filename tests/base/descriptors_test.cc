// SPDX-License-Identifier: Apache-2.0

#include "src/base/descriptors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace weir {
namespace {

class Descriptors : public ::testing::Test {
 protected:
  Descriptors() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~Descriptors() override { setrlimit(RLIMIT_NOFILE, &before_); }

  static rlim_t soft_limit() {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
  }
  void set_soft_limit(rlim_t value) const {
    rlimit limit = before_;
    limit.rlim_cur = value;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }

  rlimit before_{};
};

TEST_F(Descriptors, RaiseTheSoftLimitAsFarAsNeeded) {
  if (before_.rlim_max < 1000) GTEST_SKIP() << "the hard limit is " << before_.rlim_max;
  set_soft_limit(100);
  allow_descriptors(300);
  EXPECT_GE(soft_limit(), 300u);
  EXPECT_LT(soft_limit(), before_.rlim_max);
}

TEST_F(Descriptors, NeverLowerIt) {
  const rlim_t soft = soft_limit();
  allow_descriptors(1);
  EXPECT_EQ(soft_limit(), soft);
}

TEST_F(Descriptors, StayBelowTheHardLimit) {
  if (before_.rlim_max == RLIM_INFINITY) GTEST_SKIP() << "there is no hard limit";
  set_soft_limit(100);
  allow_descriptors(before_.rlim_max);
  EXPECT_EQ(soft_limit(), before_.rlim_max);
}

}  // namespace
}  // namespace weir
