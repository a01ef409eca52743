// SPDX-License-Identifier: Apache-2.0
/// How a rank waits: spin while that is cheap, yield while others want the core, sleep when it takes long.
///
/// A Doorbell lies in memory that all writers to the sleeper can address, in one process or several. Whoever
/// makes something a sleeper may wait for (a message, a free slot, a flag) calls ring() after it.
///
/// The common case, nobody sleeping, costs the ringer one load of a line that stays shared in its cache: no
/// fence, no locked instruction. The sleeper pays instead: it announces itself, makes every process that
/// called prepare_doorbells() pass a barrier (membarrier, where the kernel has it), looks once more, then
/// sleeps for a nap, so that even without membarrier a missed ring costs one nap of at most kNapNs and never
/// a hang.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

/// The longest sleep of a rank that has few beside it, in nanoseconds.
inline constexpr int64_t kNapNs = 1'000'000;

/// Makes this process one whose rings are never missed. Idempotent; cheapest before threads are started. A
/// process that only rings calls it by itself, a Waiter does when it first sleeps.
void prepare_doorbells();

/// All zero is a valid doorbell, so fresh shared memory needs no construction. One thread at a time sleeps on
/// it (a second one is safe, but may oversleep by a nap).
struct alignas(64) Doorbell {
  std::atomic<uint32_t> sleeping{0};  ///< set by the owner, cleared by the owner or the first ringer
  std::atomic<uint32_t> rings{0};     ///< futex word, written by ringers

  /// Wakes the owner if it sleeps. Any thread, any process.
  void ring() {
    std::atomic_signal_fence(
        std::memory_order_seq_cst);  // the compiler keeps the load behind what was stored
    if (sleeping.load(std::memory_order_relaxed) != 0) wake();
  }

 private:
  void wake();
};
static_assert(sizeof(Doorbell) == 64);

/// How often to look before giving the core away, and before sleeping. Going to sleep interrupts all cores
/// (membarrier), so it is for what takes long. Time would be a bad measure of that: it also passes while
/// others work on this core. But there a yield may take tens of milliseconds and thousands of them minutes,
/// so that after 100 ms of them it sleeps all the same, and looks for trouble.
struct WaitPolicy {
  uint32_t spins = 2000;   ///< looks with a pause instruction between; few when ranks outnumber cores
  uint32_t yields = 5000;  ///< looks with sched_yield between; fewer when very many ranks share a core
  /// Ranks that share a core. Where there are many, naps are longer: else those who only look whether there
  /// is something to look for leave no time to those who have work.
  uint32_t crowd = 1;
};

/// Paces a waiting loop:
///
///     Waiter waiter(policy, &doorbell);
///     while (!advance() && !waiter.pause(advance)) {}   // looks again before it sleeps
///
/// `pause` returns true if its look found something. One waiter per waiting loop; not thread-safe.
class Waiter {
 public:
  /// doorbell may be null: then nothing rings, and naps last 100 us or a little more, in a crowd up to 10 ms.
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
  /// Something happened: be eager again.
  void progress() { polls_ = 0; }
  /// True once the waiter has begun to sleep: the time to look for trouble (deadlines, dead peers).
  bool patient() const { return polls_ >= policy_.spins + policy_.yields; }

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
