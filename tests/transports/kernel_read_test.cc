// SPDX-License-Identifier: Apache-2.0

#include "transports/memory/kernel_read.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "tests/base/limited_child.h"

namespace weir::testing {
namespace {

std::string answers(int calls) {
  std::string all;
  for (int i = 0; i < calls; ++i) all += kernel_reads_pay() ? "pay " : "cost ";
  return all;
}

TEST(KernelReads, DoNotPayWhereTheyAreForbidden) {
  EXPECT_EQ(in_child([] { return refuse_call(SYS_process_vm_readv) ? answers(1) : "cost "; }), "cost ");
}

TEST(KernelReads, AreMeasuredOnce) {
  const std::string some = in_child([] { return answers(3); });
  EXPECT_TRUE(some == "pay pay pay " || some == "cost cost cost ") << some;
  EXPECT_EQ(in_child([] {
              const std::string before = answers(1);
              return refuse_call(SYS_process_vm_readv) && answers(1) != before ? "measured again" : "known";
            }),
            "known");
}

}  // namespace
}  // namespace weir::testing
