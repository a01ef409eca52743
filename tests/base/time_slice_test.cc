// SPDX-License-Identifier: Apache-2.0

#include "src/base/time_slice.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

namespace weir {
namespace {

/// The calling thread's time slice in nanoseconds, as sched_getattr(2) tells it; 0 where the kernel does not.
uint64_t own_slice() {
  std::array<char, 48> attributes{};
  uint64_t slice = 0;
  if (syscall(SYS_sched_getattr, 0, attributes.data(), attributes.size(), 0) == 0)
    std::memcpy(&slice, &attributes[24], sizeof(slice));
  return slice;
}

TEST(ShortTimeSlice, IsAskedForAndGivenBack) {
  const uint64_t before = own_slice();
  if (before == 0) GTEST_SKIP() << "the kernel lets no thread choose its time slice (6.12 and newer do)";
  ShortTimeSlice slice;
  slice.give_back();
  EXPECT_EQ(own_slice(), before);
  for (int i = 0; i < 2; ++i) {
    slice.ask();
    slice.ask();
    EXPECT_LT(own_slice(), before);
    slice.give_back();
    EXPECT_EQ(own_slice(), before);
  }
}

TEST(ShortTimeSlice, LeavesThreadsWithAPolicyOfTheirOwnAlone) {
  std::thread([] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_IDLE, &none), 0);
    const uint64_t before = own_slice();
    ShortTimeSlice slice;
    slice.ask();
    EXPECT_EQ(own_slice(), before);
    slice.give_back();
    EXPECT_EQ(own_slice(), before);
    EXPECT_EQ(sched_getscheduler(0), SCHED_IDLE);
  }).join();
}

TEST(ShortTimeSlice, KeepsTheNiceValue) {
  std::thread([] {
    ASSERT_EQ(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 7), 0);
    ShortTimeSlice slice;
    slice.ask();
    EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())), 7);
    slice.give_back();
    EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())), 7);
  }).join();
}

}  // namespace
}  // namespace weir
