// SPDX-License-Identifier: Apache-2.0

#include "src/core/diagnosis/recorder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "src/core/diagnosis/activity_registry.h"

namespace weir::core {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Collective kSum = Collective::all_reduce;

Recorder::Begun of(uint64_t sequence, Collective kind, uint64_t what, uint64_t count, size_t bytes) {
  return {.sequence = sequence, .kind = kind, .what = what, .count = count, .bytes = bytes};
}

TEST(Recorder, RemembersTheLastOnesInOrder) {
  Recorder recorder(5);
  EXPECT_EQ(recorder.capacity(), 8u);
  for (uint64_t i = 1; i <= 20; ++i) {
    recorder.begin(of(i, kSum, 0, 10 * i, 8));
    recorder.end();
  }
  const auto all = recorder.recent(SIZE_MAX);
  ASSERT_THAT(all, SizeIs(8));
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].number, 13 + i);
    EXPECT_EQ(all[i].count, 10 * (13 + i));
    EXPECT_TRUE(all[i].ended);
  }
  EXPECT_THAT(recorder.recent(3), SizeIs(3));
  EXPECT_EQ(recorder.recent(3).front().number, 18u);
  EXPECT_EQ(recorder.counts()[0].begun, 20u);
  EXPECT_EQ(recorder.counts()[0].ended, 20u);
  EXPECT_EQ(recorder.counts()[0].bytes, 160u);
}

/// Begins and ends short operations until one was not timed, whose number is odd; that number.
uint64_t run_until_untimed(Recorder& recorder) {
  for (uint64_t i = 1;; ++i) {
    recorder.begin(of(i, kSum, 0, 1, 8));
    recorder.end();
    if (!recorder.recent(1)[0].exact) return i;
  }
}

TEST(Recorder, TimesLargeOnesAndThoseThatWait) {
  Recorder recorder(16);
  const uint64_t number = run_until_untimed(recorder);
  recorder.begin(of(number + 1, kSum, 0, 1, Recorder::kTimedBytes));
  recorder.end();
  recorder.begin(of(number + 2, kSum, 0, 1, 8));
  recorder.end();
  recorder.begin(of(number + 4, kSum, 0, 1, 8));
  recorder.waits_since(now_ns());
  auto all = recorder.recent(4);
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_FALSE(all[0].exact);
  EXPECT_TRUE(all[1].exact);
  EXPECT_GE(all[1].ended_ns, all[1].begun_ns);
  EXPECT_FALSE(all[2].exact);
  EXPECT_EQ(all[2].begun_ns, all[1].ended_ns) << "the last time before";
  EXPECT_TRUE(all[3].exact);
  EXPECT_FALSE(all[3].ended);
  EXPECT_EQ(recorder.counts()[0].begun, number + 3);
  EXPECT_EQ(recorder.counts()[0].ended, number + 2);
  recorder.end();
  all = recorder.recent(1);
  EXPECT_TRUE(all[0].ended);
  EXPECT_GT(all[0].ended_ns, 0);
}

TEST(Recorder, TimesTheBeginAndTheEndOfSomeShortOnes) {
  Recorder recorder(16);
  recorder.begin(of(1, kSum, 0, 1, 8));
  recorder.end();
  const auto one = recorder.recent(1);
  ASSERT_THAT(one, SizeIs(1));
  EXPECT_TRUE(one[0].exact);
  EXPECT_GE(one[0].ended_ns, one[0].begun_ns);
}

TEST(Recorder, KnowsTheTimeBeforeThoseItRemembers) {
  Recorder recorder(4);
  const uint64_t number = run_until_untimed(recorder);
  for (uint64_t i = 0; i < 8; ++i) {
    recorder.begin(of(number + 2 * i, kSum, 0, 1, 8));
    recorder.end();
  }
  for (const RecordedOperation& one : recorder.recent(SIZE_MAX)) {
    EXPECT_FALSE(one.exact);
    EXPECT_GT(one.begun_ns, 0);
    EXPECT_LE(one.begun_ns, now_ns());
  }
}

size_t timed_of(TimedCalls& calls, uint64_t& number, int64_t& ns, int64_t each_ns, uint64_t count) {
  size_t timed = 0;
  for (uint64_t i = 0; i < count; ++i, ns += each_ns) {
    if (!calls.has(++number)) continue;
    calls.timed(ns);
    ++timed;
  }
  return timed;
}

TEST(TimedCalls, AreAllThatAreFarApartAndFewOfThoseThatAreNot) {
  TimedCalls calls;
  uint64_t number = 0;
  int64_t ns = 1'000'000'000;
  EXPECT_EQ(timed_of(calls, number, ns, 1'000'000, 100), 100u);
  EXPECT_LE(timed_of(calls, number, ns, 120, 10'240), 10'240 / 512 + 10u);
  EXPECT_EQ(calls.last_ns() - calls.before_ns(), 512 * 120);
  EXPECT_GE(timed_of(calls, number, ns, 1'000'000, 600), 600 - 512u) << "they have become slow";
  EXPECT_EQ(timed_of(calls, number, ns, 1'000'000, 100), 100u);
  calls.forget();
  EXPECT_EQ(calls.last_ns(), 0);
}

/// Ranks see different times; what the one with the greater pace has timed, the others have timed as well.
TEST(TimedCalls, AreCommonToRanks) {
  std::vector<std::set<uint64_t>> timed(2);
  for (size_t rank = 0; rank < timed.size(); ++rank) {
    TimedCalls calls;
    int64_t ns = 1'000'000'000;
    for (uint64_t number = 1; number <= 20'000; ++number) {
      ns += 2'000 + static_cast<int64_t>(3'000 * rank);
      if (!calls.has(number)) continue;
      calls.timed(ns);
      if (number > 1'000) timed[rank].insert(number);
    }
  }
  EXPECT_GT(timed[1].size(), 100u);
  EXPECT_TRUE(std::ranges::includes(timed[1], timed[0]) || std::ranges::includes(timed[0], timed[1]));
}

TEST(Recorder, WhatFailsHasNotEnded) {
  Activity activity(16);
  for (uint64_t call = 1; call <= 2; ++call) {
    activity.begin(call, 0, {.count = Recorder::kTimedBytes});
    call == 1 ? activity.end() : activity.fail_call();
  }
  const Recorder& recorder = activity.recorder();
  const auto all = recorder.recent(SIZE_MAX);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_TRUE(all[0].ended);
  EXPECT_FALSE(all[1].ended);
  EXPECT_GE(all[1].ended_ns, all[1].begun_ns) << "when it failed";
  EXPECT_EQ(recorder.counts()[0].begun, 2u);
  EXPECT_EQ(recorder.counts()[0].ended, 1u);
  activity.exchange();  // as a shrink does, later
  activity.leave();
  EXPECT_FALSE(recorder.recent(1)[0].ended);
  EXPECT_EQ(activity.snapshot(0).state, Snapshot::State::outside);
}

TEST(Recorder, PairsEndTogether) {
  Recorder recorder(16);
  recorder.begin(of(0, Collective::send_recv, 8, 1, 8));
  recorder.begin(of(0, Collective::send_recv, 8, 1, 8));
  EXPECT_EQ(recorder.counts()[8].begun, 2u);
  EXPECT_EQ(recorder.counts()[8].ended, 0u);
  recorder.end();
  EXPECT_EQ(recorder.counts()[8].ended, 2u);
}

TEST(Recorder, TellsOthersOfACallByItsSequenceNumber) {
  for (const size_t capacity : {size_t{0}, size_t{4}, size_t{64}}) {
    Recorder recorder(capacity);
    EXPECT_EQ(recorder.with_sequence(1), std::nullopt);
    for (uint64_t i = 1; i <= 30; ++i) {
      recorder.begin({.sequence = i, .signature = static_cast<uint32_t>(7 * i), .kind = kSum, .count = i});
      recorder.end();
    }
    const size_t remembered = std::max(capacity, size_t{16});
    EXPECT_EQ(recorder.with_sequence(14) == std::nullopt, remembered < 17);
    ASSERT_NE(recorder.with_sequence(15), std::nullopt);
    EXPECT_EQ(recorder.with_sequence(15)->signature, 105u);
    EXPECT_EQ(recorder.with_sequence(31), std::nullopt);
    // A group is told by its first, or by what is left of it.
    for (uint64_t i = 1; i <= remembered + 1; ++i) {
      recorder.begin(
          {.sequence = 30, .kind = Collective::send_recv, .what = 8, .count = 100 + i, .beside = i > 1});
      EXPECT_EQ(recorder.with_sequence(30)->count, i <= remembered ? 101u : 102u) << i;
    }
  }
}

TEST(Recorder, ForgetsAndCanBeOff) {
  Recorder recorder(16);
  recorder.begin(of(1, kSum, 0, 1, 8));
  recorder.end();
  recorder.forget();
  EXPECT_THAT(recorder.recent(SIZE_MAX), IsEmpty());
  EXPECT_EQ(recorder.counts()[0].begun, 0u);
  Recorder off(0);
  off.begin(of(1, kSum, 0, 1, 8));
  off.plan("ring", true);
  off.waits_since(1);
  off.end();
  EXPECT_THAT(off.recent(SIZE_MAX), IsEmpty());
  EXPECT_EQ(off.add_channel(1, 0, true, "tcp"), nullptr);
}

/// What a reader sees is never half of one operation and half of another.
TEST(Recorder, IsReadWhileItWrites) {
  Recorder recorder(4);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t i = 1; !stop; ++i) {
      recorder.begin(of(i, kSum, 0, 3 * i, 8));
      recorder.end();
    }
  });
  size_t seen = 0;
  while (seen < 10'000) {
    for (const RecordedOperation& one : recorder.recent(SIZE_MAX)) {
      EXPECT_EQ(one.sequence, one.number);
      EXPECT_EQ(one.count, 3 * one.number);
      ++seen;
    }
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace weir::core
