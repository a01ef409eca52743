// SPDX-License-Identifier: Apache-2.0

#include "src/base/shortage.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/base/limited_child.h"

namespace weir {
namespace {

TEST(Shortage, OfDescriptorsNamesTheLimitOfThisProcess) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP()
      << "the check of undefined behaviour looks at memory through pipes, for which no descriptors are left";
#endif
  const std::string said = testing::in_child([] {
    testing::allow_no_descriptors();
    const int refused = dup(2) < 0 ? errno : 0;
    const Status status = system_failure("cannot make a socket", refused);
    return std::string(status.is_shortage() ? "shortage: " : "") + status.message();
  });
  EXPECT_EQ(said.rfind("shortage: cannot make a socket: this process has no file descriptors left", 0), 0u)
      << said;
  EXPECT_NE(said.find("ulimit -n"), std::string::npos) << said;
}

TEST(Shortage, OfMemoryAndOfTheHost) {
  EXPECT_NE(system_words(ENOMEM).find("no more memory"), std::string::npos);
  EXPECT_NE(system_words(ENFILE).find("this host"), std::string::npos);
  EXPECT_TRUE(system_failure("cannot map", ENOMEM).is_shortage());
}

TEST(Shortage, OtherErrorsAreNone) {
  const Status status = system_failure("cannot connect", EHOSTUNREACH);
  EXPECT_FALSE(status.is_shortage());
  EXPECT_EQ(status.code(), Code::system_error);
  EXPECT_EQ(status.message(), "cannot connect: No route to host");
}

TEST(Shortage, StaysOneInOtherWords) {
  EXPECT_TRUE(Status::shortage("none left").reworded("rank 3: none left").is_shortage());
  EXPECT_EQ(Status(Code::remote_error, "why").reworded("rank 3: why").code(), Code::remote_error);
}

}  // namespace
}  // namespace weir
