/// How a rank waits: spin while that is cheap, yield while others want the core, sleep when it takes long.
///
/// A Doorbell lies in memory that all writers to the sleeper can address, in one process or several. Whoever
/// makes something a sleeper may wait for (a message, a free slot, a flag) calls ring() after it.
///
/// The common case, nobody sleeping, costs the ringer one load of a line that stays shared in its cache: no
/// fence, no locked instruction. The sleeper pays instead: it announces itself, makes every process pass a
/// barrier (membarrier, where the kernel has it), looks once more, then sleeps for at most kNap, so that even
/// without membarrier a missed ring costs one nap and never a hang.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir {

struct alignas(64) Doorbell {
  std::atomic<uint32_t> sleeping{0};  ///< written by the owner
  std::atomic<uint32_t> rings{0};     ///< futex word, written by ringers

  /// Wakes the owner if it sleeps. Any thread, any process.
  void ring() {
    if (sleeping.load(std::memory_order_relaxed) != 0) wake();
  }

 private:
  void wake();
};

/// How long to insist before giving the core away.
struct WaitPolicy {
  uint32_t spins = 2000;   ///< looks with a pause instruction between; 0 when ranks outnumber cores
  uint32_t yields = 200;   ///< looks with sched_yield between
};

/// Paces a waiting loop:
///
///     Waiter waiter(policy, &doorbell);
///     while (!advance()) waiter.pause([&] { return advance(); });   // look again before sleeping
///
/// `pause` returns true if its look found something. One waiter per waiting loop; not thread-safe.
class Waiter {
 public:
  /// doorbell may be null: then nothing rings and naps are short.
  Waiter(WaitPolicy policy, Doorbell* doorbell) : policy_(policy), doorbell_(doorbell) {}

  template <typename Look>
  bool pause(Look&& look) {
    if (turns_ < policy_.spins + policy_.yields) {
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
  void progress() { turns_ = 0; }
  /// True once the waiter has begun to sleep: the time to look for trouble (deadlines, dead peers).
  bool patient() const { return turns_ >= policy_.spins + policy_.yields; }

 private:
  void give_way();  // one spin or yield
  void announce();
  void nap();
  void withdraw();

  WaitPolicy policy_;
  Doorbell* doorbell_;
  uint32_t turns_ = 0;
  uint32_t ticket_ = 0;
};

}  // namespace weir
