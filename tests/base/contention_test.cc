// SPDX-License-Identifier: Apache-2.0

#include "src/base/contention.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace weir {
namespace {

constexpr int64_t kQuick = 20'000;
constexpr int64_t kSlow = 4'000'000;

TEST(Contention, QuickYieldsFindNone) {
  Contention here;
  int64_t now = 1'000'000'000;
  for (int i = 0; i < 100; ++i, now += kQuick) here.note_yield(now, now + kQuick, 1);
  EXPECT_FALSE(here.found(now));
}

TEST(Contention, ASlowYieldFindsItForATime) {
  Contention here;
  here.note_yield(0, kSlow, 1);
  EXPECT_TRUE(here.found(kSlow));
  EXPECT_TRUE(here.found(kSlow + Contention::kLeastPauseNs - 1));
  EXPECT_FALSE(here.found(kSlow + Contention::kLeastPauseNs));
}

TEST(Contention, OneSlowYieldDoesNotLast) {
  Contention here;
  here.note_yield(0, kSlow, 1);
  EXPECT_FALSE(here.lasts(kSlow));
  int64_t now = kSlow + Contention::kLeastPauseNs;
  here.note_yield(now, now + kSlow, 1);
  now += kSlow + 2 * Contention::kLeastPauseNs;
  EXPECT_FALSE(here.found(now));
  EXPECT_TRUE(here.lasts(now));
  EXPECT_FALSE(here.lasts(now + Contention::kMemoryNs));
}

TEST(Contention, LastsLongerEachTimeUntilAYieldIsQuick) {
  Contention here;
  int64_t now = 0;
  const auto pause_after_slow_yield = [&] {
    here.note_yield(now, now + kSlow, 1);
    const int64_t begin = now += kSlow;
    while (here.found(now)) now += 1'000'000;
    return now - begin;
  };
  EXPECT_EQ(pause_after_slow_yield(), Contention::kLeastPauseNs);
  EXPECT_EQ(pause_after_slow_yield(), 2 * Contention::kLeastPauseNs);
  for (int i = 0; i < 20; ++i) pause_after_slow_yield();
  EXPECT_EQ(pause_after_slow_yield(), Contention::kMostPauseNs);
  here.note_yield(now, now + kQuick, 1);
  EXPECT_FALSE(here.found(now + kQuick));
  EXPECT_EQ(pause_after_slow_yield(), Contention::kLeastPauseNs);
}

TEST(Contention, RanksThatWorkABitAreNoLoad) {
  Contention here;
  here.note_yield(0, Contention::kSliceNs + 5 * Contention::kOwnNs, 16);
  EXPECT_FALSE(here.found(Contention::kSliceNs + 5 * Contention::kOwnNs));
  here.note_yield(0, kSlow, 16);
  EXPECT_TRUE(here.found(kSlow));
}

/// Binds the caller to the core on which it runs.
void stay_here() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
}

// In a child, which is bound to one core together with a process that computes.
TEST(Contention, IsFoundBesideAProcessThatComputes) {
  const pid_t waiting = fork();
  if (waiting == 0) {
    stay_here();
    const pid_t computing = fork();
    if (computing == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (std::atomic<unsigned> sum = 0;;) sum.fetch_add(1);
    }
    for (int64_t now = now_ns(); !contention.found(now);) now = yield_core(now);
    const bool sleeps = !try_yield_core();
    kill(computing, SIGKILL);
    waitpid(computing, nullptr, 0);
    _exit(sleeps ? 0 : 1);
  }
  int status = -1;
  waitpid(waiting, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace weir
