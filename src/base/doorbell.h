// SPDX-License-Identifier: Apache-2.0
/// How a rank waits: it spins first, then yields its core between polls, then sleeps until a peer rings. On a
/// core that others compute on it sleeps instead of yielding (contention.h, docs/waiting.md).
///
/// A Doorbell lies in memory that all ranks that may wake the sleeper can address, in one process or several.
/// After a rank has made something that the sleeper may wait for (a message, a free slot, a flag), it calls
/// ring().
///
/// In the common case, when the owner does not sleep, ringing costs one load of a cache line that stays
/// shared: no fence, no locked instruction. The sleeper does the expensive part: it announces that it sleeps,
/// makes every process that called prepare_doorbells() pass a barrier (membarrier, where the kernel has it),
/// polls once more, and then sleeps for a limited time. Without membarrier a ring may be missed, which costs
/// one sleep of at most kNapNs but never a hang. An owner that sleeps often keeps the doorbell `fenced`
/// between its sleeps: then ringers use a fence, and the barrier is needed once only.
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
  enum State : uint32_t { awake = 0, fenced = 1, asleep = 2 };

  std::atomic<uint32_t> state{awake};  ///< written by the owner; a ringer that wakes it makes it `fenced`
  std::atomic<uint32_t> rings{0};      ///< futex word, written by the ringers that wake
  std::atomic<int32_t> missing{0};     ///< rings until the owner is woken

  /// Wakes the owner if it sleeps and this was the last ring that it needs. Any thread, any process.
  void ring() {
    std::atomic_signal_fence(
        std::memory_order_seq_cst);  // keeps the compiler from moving the load before earlier stores
    if (state.load(std::memory_order_relaxed) != awake) ring_fenced();
  }

 private:
  void ring_fenced();
};
static_assert(sizeof(Doorbell) == 64);

/// How many times a rank polls before it yields its core, and before it sleeps. Going to sleep interrupts all
/// cores (membarrier), so it pays only for long waits. Polls are counted instead of time, because time also
/// passes while other threads run on this core. Yields that take long end early: the rank sleeps after one
/// that somebody's computing took, and at the latest after 100 ms of yielding; then it checks for failures.
struct WaitPolicy {
  uint32_t spins = 2000;   ///< polls with a pause instruction between them; few when ranks outnumber cores
  uint32_t yields = 5000;  ///< polls with sched_yield() between them; fewer when very many ranks share a core
  /// Ranks that share a core. Where there are many, sleeps are longer: otherwise ranks that only poll would
  /// leave no core time to ranks that have work.
  uint32_t crowd = 1;
  /// Without a doorbell: an epoll instance whose events end a sleep early (edge-triggered); -1: none.
  int events = -1;
  bool only_events = false;  ///< nothing else has to be looked for, so that sleeps may be longer
};

/// Paces a waiting loop:
///
///     Waiter waiter(policy, &doorbell);
///     while (!advance() && !waiter.pause(advance)) {}   // polls once more before it sleeps
///
/// `pause` returns true if `advance` did. One waiter per waiting loop, used by one thread.
class Waiter {
 public:
  /// `doorbell` may be null: then no peer rings, and sleeps last about 100 us, up to 10 ms where many ranks
  /// share a core, or until one of the policy's events.
  Waiter(WaitPolicy policy, Doorbell* doorbell)
      : policy_(policy), doorbell_(doorbell), spins_(policy.spins) {}
  ~Waiter() {
    if (shortened_) leave();
  }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// `rings_needed()` is the least number of rings, 1 or more, without which `look` cannot succeed; fewer
  /// wake-ups for a rank that waits for many.
  template <typename Look, typename Rings>
  bool pause(Look&& look, Rings&& rings_needed) {
    if (!exhausted()) {
      give_way();
      return false;
    }
    const int32_t needed = rings_needed();
    announce(needed);
    const bool found = look();
    if (!found && !heard(needed - rings_needed())) nap();
    withdraw();
    return found;
  }
  template <typename Look>
  bool pause(Look&& look) {
    return pause(look, [] { return 1; });
  }
  /// Call after progress: the waiter starts again with spinning.
  void progress() {
    if (beside_load_ && polls_ > 0 && polls_ <= spins_) learn(true);
    polls_ = naps_ = 0;
  }
  /// True once the waiter has begun to sleep: the caller should now check deadlines and dead peers.
  bool exhausted() const { return polls_ >= exhausted_at(); }

 private:
  void give_way();  // one spin or yield
  void begin();
  void learn(bool spins_were_enough);
  void leave();
  uint32_t exhausted_at() const { return spins_ + policy_.yields; }
  void announce(int32_t needed);
  bool heard(int32_t rings);
  int64_t nap_ns() const;
  void nap();
  void withdraw();

  WaitPolicy policy_;
  Doorbell* doorbell_;
  uint32_t spins_;  ///< of this wait
  bool beside_load_ = false;
  bool began_ = false;
  bool shortened_ = false;  ///< asked for short time slices
  uint32_t polls_ = 0;
  uint32_t naps_ = 0;
  uint32_t ticket_ = 0;
  int64_t yielding_since_ns_ = 0;
  int64_t now_ns_ = 0;  ///< after the last yield
};

}  // namespace weir
