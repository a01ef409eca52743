// SPDX-License-Identifier: Apache-2.0

#include "src/base/doorbell.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "src/base/clock.h"
#include "src/base/contention.h"

namespace weir {
namespace {

constexpr WaitPolicy kSleepAtOnce{0, 0};

/// Waits until `value` is at least `wanted`.
void wait_until(std::atomic<uint32_t>& value, uint32_t wanted, WaitPolicy policy, Doorbell* doorbell) {
  Waiter waiter(policy, doorbell);
  const auto look = [&] { return value.load(std::memory_order_acquire) >= wanted; };
  while (!look() && !waiter.pause(look)) {
  }
}

/// Two threads or processes: each waits for the other's number and answers with the next.
struct Table {
  Doorbell bells[2];
  std::atomic<uint32_t> numbers[2];
};

void play(Table& table, int self, uint32_t turns, WaitPolicy policy) {
  for (uint32_t turn = 1; turn <= turns; ++turn) {
    if (self == 1) wait_until(table.numbers[0], turn, policy, &table.bells[1]);
    table.numbers[self].store(turn, std::memory_order_release);
    table.bells[1 - self].ring();
    if (self == 0) wait_until(table.numbers[1], turn, policy, &table.bells[0]);
  }
}

TEST(Doorbell, ThreadsTakeTurnsAsleepOrAwake) {
  for (const WaitPolicy policy : {kSleepAtOnce, WaitPolicy{50, 0}, WaitPolicy{0, 5}, WaitPolicy{}}) {
    auto table = std::make_unique<Table>();
    std::thread other([&] { play(*table, 1, 3000, policy); });
    play(*table, 0, 3000, policy);
    other.join();
    EXPECT_EQ(table->numbers[1].load(), 3000u);
  }
}

TEST(Doorbell, ProcessesTakeTurnsThroughFreshSharedMemory) {
  const int fd = memfd_create("weir-doorbell-test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, sizeof(Table)), 0);
  void* const memory = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Table& table = *static_cast<Table*>(memory);  // a doorbell of all zero bytes is valid
  const pid_t pid = fork();
  if (pid == 0) {
    play(table, 1, 5000, kSleepAtOnce);
    _exit(0);
  }
  play(table, 0, 5000, kSleepAtOnce);
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  munmap(memory, sizeof(Table));
  close(fd);
}

TEST(Doorbell, RingsOfManyAreNotLost) {
  constexpr uint32_t kRingers = 4, kEach = 5000;
  Doorbell bell;
  std::atomic<uint32_t> sum{0};
  std::vector<std::thread> ringers;
  for (uint32_t i = 0; i < kRingers; ++i) {
    ringers.emplace_back([&] {
      for (uint32_t n = 0; n < kEach; ++n) {
        sum.fetch_add(1, std::memory_order_release);
        bell.ring();
      }
    });
  }
  for (uint32_t wanted = 1; wanted <= kRingers * kEach; wanted += 7)
    wait_until(sum, wanted, kSleepAtOnce, &bell);
  for (std::thread& ringer : ringers) ringer.join();
  EXPECT_EQ(sum.load(), kRingers * kEach);
}

TEST(Doorbell, NobodyAsleepMeansNoRing) {
  Doorbell bell;
  for (int i = 0; i < 100; ++i) bell.ring();
  EXPECT_EQ(bell.rings.load(), 0u);
}

TEST(Doorbell, OneRingWakesTheSleeper) {
  Doorbell bell;
  bell.state = Doorbell::asleep;
  bell.missing = 1;
  bell.ring();
  bell.ring();
  EXPECT_EQ(bell.rings.load(), 1u);
  EXPECT_EQ(bell.state.load(), Doorbell::fenced);
}

TEST(Doorbell, TheLastOfTheRingsThatItNeedsWakesTheSleeper) {
  Doorbell bell;
  bell.state = Doorbell::asleep;
  bell.missing = 3;
  for (int i = 0; i < 2; ++i) bell.ring();
  EXPECT_EQ(bell.rings.load(), 0u);
  EXPECT_EQ(bell.state.load(), Doorbell::asleep);
  bell.ring();
  EXPECT_EQ(bell.rings.load(), 1u);
  EXPECT_EQ(bell.state.load(), Doorbell::fenced);
}

/// As two yields in a row that took very long.
void find_load() {
  for (int i = 0; i < 2; ++i) contention.note_yield(0, now_ns(), 1);
}

/// Every rank waits in each round for all others. Sleeps are long, so that a lost ring would be noticed.
void meet(std::span<Doorbell> bells, std::span<std::atomic<uint32_t>> numbers, size_t self,
          bool beside_load) {
  constexpr uint32_t kRounds = 2000;
  for (uint32_t round = 1; round <= kRounds; ++round) {
    if (beside_load) find_load();
    numbers[self].store(round, std::memory_order_release);
    for (size_t peer = 0; peer < bells.size(); ++peer) {
      if (peer != self) bells[peer].ring();
    }
    Waiter waiter(WaitPolicy{.spins = 0, .yields = 0, .crowd = 250}, &bells[self]);
    int missing = 0;
    const auto look = [&] {
      missing = 0;
      for (const std::atomic<uint32_t>& number : numbers)
        missing += number.load(std::memory_order_acquire) < round;
      return missing == 0;
    };
    while (!look() && !waiter.pause(look, [&] { return std::max(1, missing); })) {
    }
  }
}

TEST(Doorbell, RanksThatWaitForAllOthersLoseNoRing) {
  for (const bool beside_load : {false, true}) {
    std::array<Doorbell, 4> bells;
    std::array<std::atomic<uint32_t>, 4> numbers{};
    std::vector<std::thread> ranks;
    const int64_t begin = now_ns();
    for (size_t rank = 0; rank < bells.size(); ++rank)
      ranks.emplace_back([&, rank] { meet(bells, numbers, rank, beside_load); });
    for (std::thread& rank : ranks) rank.join();
    // A nap takes 50 ms, so 2000 rounds of lost rings would take 100 s.
    EXPECT_LT(now_ns() - begin, 30'000 * kNsPerMs);
  }
}

TEST(Waiter, BecomesPatientAndEagerAgain) {
  Waiter waiter(WaitPolicy{.spins = 5, .yields = 0}, nullptr);  // yields may find load
  const auto never = [] { return false; };
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(waiter.exhausted());
    EXPECT_FALSE(waiter.pause(never));
  }
  EXPECT_TRUE(waiter.exhausted());
  EXPECT_FALSE(waiter.pause(never));
  EXPECT_TRUE(waiter.pause([] { return true; }));
  waiter.progress();
  EXPECT_FALSE(waiter.exhausted());
}

TEST(Waiter, DoesNotYieldForEver) {
  Waiter waiter(WaitPolicy{0, 1u << 30}, nullptr);
  while (!waiter.exhausted()) EXPECT_FALSE(waiter.pause([] { return false; }));
}

TEST(Waiter, ANapEndsByItself) {
  Doorbell bell;
  Waiter waiter(kSleepAtOnce, &bell);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(waiter.pause([] { return false; }));
  EXPECT_NE(bell.state.load(), Doorbell::asleep);
}

TEST(Waiter, AnEventEndsANapOnce) {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  const int source = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
  ASSERT_EQ(epoll_ctl(epoll, EPOLL_CTL_ADD, source, &event), 0);
  Waiter waiter(WaitPolicy{.spins = 0, .yields = 0, .events = epoll, .only_events = true}, nullptr);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(eventfd_write(source, 1), 0);
    EXPECT_FALSE(waiter.pause([] { return false; }));
    EXPECT_EQ(epoll_wait(epoll, &event, 1, 0), 0) << "the nap has seen it";
  }
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(waiter.pause([] { return false; }));  // ends by itself
  close(source);
  close(epoll);
}

TEST(Waiter, SleepsInsteadOfYieldingBesideLoad) {
  std::thread([] {
    contention.note_yield(0, now_ns(), 1);  // a yield that took very long
    Waiter waiter(WaitPolicy{0, 1u << 30}, nullptr);
    EXPECT_FALSE(waiter.pause([] { return false; }));
    EXPECT_TRUE(waiter.exhausted());
  }).join();
}

}  // namespace
}  // namespace weir
