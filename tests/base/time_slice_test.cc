// SPDX-License-Identifier: Apache-2.0

#include "src/base/time_slice.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace weir {
namespace {

/// As in sched_setattr(2), word by word: 2 words of size and policy, flags, nice value and priority, and the
/// length of a time slice in nanoseconds.
struct Attributes {
  std::array<uint64_t, 6> words{};
  uint64_t& slice() { return words[3]; }
};

Attributes own_attributes() {
  Attributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return {};
  return attributes;
}

/// The calling thread's time slice in nanoseconds; 0 where the kernel does not tell.
uint64_t own_slice() { return own_attributes().slice(); }

/// Gives the calling thread time slices of `slice` nanoseconds.
bool choose_slice(uint64_t slice) {
  Attributes attributes = own_attributes();
  attributes.slice() = slice;
  return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0 && own_slice() == slice;
}

/// In a thread with a slice of its own: the main thread's may be short already, if earlier tests have waited
/// beside load.
TEST(ShortTimeSlice, IsAskedForAndGivenBack) {
  constexpr uint64_t kChosenNs = 2'000'000;
  bool chosen = false;
  std::thread([&] {
    chosen = choose_slice(kChosenNs);
    if (!chosen) return;
    ShortTimeSlice slice;
    slice.give_back();
    EXPECT_EQ(own_slice(), kChosenNs);
    for (int i = 0; i < 2; ++i) {
      slice.ask();
      slice.ask();
      EXPECT_LT(own_slice(), kChosenNs);
      slice.give_back();
      EXPECT_EQ(own_slice(), kChosenNs);
    }
  }).join();
  if (!chosen) GTEST_SKIP() << "the kernel lets no thread choose its time slice (6.12 and newer do)";
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
