// SPDX-License-Identifier: Apache-2.0
/// How a rank waits: it spins first, then yields its core between polls, then sleeps until a peer rings.
///
/// A Doorbell lies in memory that all ranks that may wake the sleeper can address, in one process or several.
/// After a rank has made something that the sleeper may wait for (a message, a free slot, a flag), it calls
/// ring().
///
/// In the common case, when the owner does not sleep, ringing costs one load of a cache line that stays
/// shared: no fence, no locked instruction. The sleeper does the expensive part: it sets `sleeping`, makes
/// every process that called prepare_doorbells() pass a barrier (membarrier, where the kernel has it), polls
/// once more, and then sleeps for a limited time. Without membarrier a ring may be missed, which costs one
/// sleep of at most kNapNs but never a hang.
/// Tests: tests/base/doorbell_test.cc
#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

/// The longest sleep, in nanoseconds, of a rank that shares its core with few others.
inline constexpr int64_t kNapNs = 1'000'000;

/// Registers this process for membarrier, so that its rings are never missed. Idempotent; cheapest before
/// threads are started. A process that only rings must call it; a Waiter calls it before its first sleep.
void prepare_doorbells();

/// A doorbell of all zero bytes is valid, so fresh shared memory needs no construction. One thread at a time
/// may sleep on it (a second one is safe, but may sleep one nap too long).
struct alignas(64) Doorbell {
  std::atomic<uint32_t> sleeping{0};  ///< set by the owner, cleared by the owner or the first ringer
  std::atomic<uint32_t> rings{0};     ///< futex word, written by ringers

  /// Wakes the owner if it sleeps. Any thread, any process.
  void ring() {
    std::atomic_signal_fence(
        std::memory_order_seq_cst);  // keeps the compiler from moving the load before earlier stores
    if (sleeping.load(std::memory_order_relaxed) != 0) wake();
  }

 private:
  void wake();
};
static_assert(sizeof(Doorbell) == 64);

/// How many times a rank polls before it yields its core, and before it sleeps. Going to sleep interrupts all
/// cores (membarrier), so it pays only for long waits. Polls are counted instead of time, because time also
/// passes while other threads run on this core. But on a busy core a yield may take tens of milliseconds, and
/// thousands of yields minutes; so the rank sleeps at the latest after 100 ms of yielding, and then checks
/// for failures.
struct WaitPolicy {
  uint32_t spins = 2000;   ///< polls with a pause instruction between them; few when ranks outnumber cores
  uint32_t yields = 5000;  ///< polls with sched_yield() between them; fewer when very many ranks share a core
  /// Ranks that share a core. Where there are many, sleeps are longer: otherwise ranks that only poll would
  /// leave no core time to ranks that have work.
  uint32_t crowd = 1;
};

/// Paces a waiting loop:
///
///     Waiter waiter(policy, &doorbell);
///     while (!advance() && !waiter.pause(advance)) {}   // polls once more before it sleeps
///
/// `pause` returns true if `advance` did. One waiter per waiting loop; not thread-safe.
class Waiter {
 public:
  /// `doorbell` may be null: then no peer rings, and sleeps last about 100 us, up to 10 ms where many ranks
  /// share a core.
  Waiter(WaitPolicy policy, Doorbell* doorbell) : policy_(policy), doorbell_(doorbell) {}

  template <typename Look>
  bool pause(Look&& look) {
    if (polls_ < policy_.spins + policy_.yields) {
      give_way();
      return false;
    }
    announce();
    const bool found = look();
    if (!found) nap();
    withdraw();
    return found;
  }
  /// Call after progress: the waiter starts again with spinning.
  void progress() { polls_ = 0; }
  /// True once the waiter has begun to sleep: the caller should now check deadlines and dead peers.
  bool exhausted() const { return polls_ >= policy_.spins + policy_.yields; }

 private:
  void give_way();  // one spin or yield
  void announce();
  int64_t nap_ns() const;
  void nap();
  void withdraw();

  WaitPolicy policy_;
  Doorbell* doorbell_;
  uint32_t polls_ = 0;
  uint32_t ticket_ = 0;
  int64_t yielding_since_ns_ = 0;
};

}  // namespace weir
