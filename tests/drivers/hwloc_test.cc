// SPDX-License-Identifier: Apache-2.0

#include "src/drivers/hwloc.h"

#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "tests/base/limited_child.h"

namespace weir::drivers {
namespace {

using ::testing::HasSubstr;

/// Some filters of containers do so; hwloc itself would ask for ever.
TEST(Hwloc, IsNotAskedWhereTheAffinityIsRefused) {
  const std::string said = testing::in_child([] {
    alarm(60);  // a hang ends with a signal
    return testing::refuse_call(__NR_sched_getaffinity) ? hwloc_xml().status().message() : "no filters";
  });
  if (said == "no filters") GTEST_SKIP() << "this kernel has no filters of system calls";
  EXPECT_THAT(said, HasSubstr("this process may not ask for its cores (sched_getaffinity)"));
}

}  // namespace
}  // namespace weir::drivers
