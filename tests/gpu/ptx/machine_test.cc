// SPDX-License-Identifier: Apache-2.0
// The machine, with kernels that are written by hand: what it orders, and what it finds.
#include "tests/gpu/ptx/machine.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace weir::ptx {
namespace {

constexpr uint64_t kSeeds = 200;

/// Words of two blocks, apart so that stores to them are not kept in order.
struct Words {
  alignas(64) uint64_t data[8];
  alignas(64) uint64_t flag;
  uint64_t seen;
};

template <Order kOrder>
uint64_t get(Thread& t, uint64_t* word) {
  uint64_t value[1];
  t.load<kOrder, Space::global>(reinterpret_cast<uint64_t>(word), value);
  return value[0];
}
template <Order kOrder>
void set(Thread& t, uint64_t* word, uint64_t value) {
  const uint64_t given[] = {value};
  t.store<kOrder, Space::global>(reinterpret_cast<uint64_t>(word), given);
}

Words& words_of(Thread& t) { return **reinterpret_cast<Words* const*>(t.argument()); }

/// Block 0 passes data to block 1: thread 1 writes it, and thread 0 the flag.
template <Order kRelease, Order kAcquire, bool kBarrier, bool kFence = false>
void pass_on(Thread& t) {
  Words& words = words_of(t);
  if (t.block() == 0) {
    if (t.thread() == 1) set<Order::weak>(t, &words.data[3], 42);
    if (kBarrier) t.barrier(false);
    if (kFence && t.thread() == 0) t.fence();
    if (t.thread() == 0) set<kRelease>(t, &words.flag, 1);
    return;
  }
  if (t.thread() == 0) {
    while (get<kAcquire>(t, &words.flag) == 0) t.pause();
    if (kFence) t.fence();
  }
  t.barrier(false);
  if (t.thread() == 1) words.seen = get<Order::weak>(t, &words.data[3]);
}

/// Runs two blocks of a kernel with many seeds; `until_stale`: until old data was read, which is rare.
struct Found {
  uint64_t runs = 0;
  uint64_t races = 0;
  int stale = 0;  ///< runs in which old data was read
};
Found run(void (*code)(Thread&), bool until_stale = false) {
  Found found;
  while (until_stale ? found.stale == 0 && found.runs < 100 * kSeeds : found.runs < kSeeds) {
    const uint64_t seed = ++found.runs;
    Words words{};
    const Words* const argument = &words;
    Machine::get().set({4, 3, seed, 2});
    std::array<std::thread, 2> hosts;
    for (uint32_t block = 0; block < 2; ++block)
      hosts[block] = std::thread([&, block] { run_block({code, &argument, block, 2, 16}); });
    for (std::thread& host : hosts) host.join();
    found.stale += words.seen != 42;
    Report report;
    Machine::get().take(report);
    found.races += report.races;
  }
  return found;
}

TEST(PtxMachine, ReleaseAndAcquireOrderWhatABlockWrote) {
  const Found found = run(pass_on<Order::release, Order::acquire, true>);
  EXPECT_EQ(found.races, 0u);
  EXPECT_EQ(found.stale, 0);
}

TEST(PtxMachine, FencesOrderRelaxedAccesses) {
  const Found found = run(pass_on<Order::relaxed, Order::relaxed, true, true>);
  EXPECT_EQ(found.races, 0u);
  EXPECT_EQ(found.stale, 0);
}

TEST(PtxMachine, ARelaxedReleaseIsARaceAndLetsOldDataBeSeen) {
  const Found found = run(pass_on<Order::relaxed, Order::acquire, true>, true);
  EXPECT_EQ(found.races, found.runs);
  EXPECT_GT(found.stale, 0);
}

TEST(PtxMachine, AMissingAcquireIsARace) {
  EXPECT_EQ((run(pass_on<Order::release, Order::relaxed, true>).races), kSeeds);
}

TEST(PtxMachine, AMissingBarrierIsARaceAndLetsOldDataBeSeen) {
  const Found found = run(pass_on<Order::release, Order::acquire, false>, true);
  EXPECT_GT(found.races, 0u);
  EXPECT_GT(found.stale, 0);
}

/// All threads of both blocks store a word each and read another's after a barrier.
void exchange_in_block(Thread& t) {
  Words& words = words_of(t);
  uint64_t* const own = &words.data[4 * t.block()];
  set<Order::weak>(t, own + t.thread(), t.thread() + 10);
  const bool any = t.barrier(t.thread() == 2);
  const uint64_t next = get<Order::weak>(t, own + (t.thread() + 1) % 4);
  if (!any || next != (t.thread() + 1) % 4 + 10) __atomic_store_n(&words.flag, 1, __ATOMIC_RELAXED);
  if (t.barrier(false)) __atomic_store_n(&words.flag, 1, __ATOMIC_RELAXED);
  if (t.thread() == 0 && words.flag == 0) words.seen = 42;
}
TEST(PtxMachine, BarriersShowABlockItsStoresAndTellWhatAnySaid) {
  const Found found = run(exchange_in_block);
  EXPECT_EQ(found.races, 0u);
  EXPECT_EQ(found.stale, 0);
}

/// Sums over four threads, as the trainer's kernels do.
void shuffle_in_block(Thread& t) {
  uint32_t sum = t.thread() + 1;
  for (const uint32_t half : {2u, 1u}) sum += t.shuffle(Shuffle::down, sum, half, 0x1c03, 0xf).value;
  const uint32_t all = t.shuffle(Shuffle::idx, sum, 0, 0x1c03, 0xf).value;
  if (all == 10) words_of(t).seen = 42;
}
TEST(PtxMachine, ShufflesMoveValuesBetweenThreads) {
  const Found found = run(shuffle_in_block);
  EXPECT_EQ(found.stale, 0);
}

}  // namespace
}  // namespace weir::ptx
