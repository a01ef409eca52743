// SPDX-License-Identifier: Apache-2.0

#include "src/base/doorbell.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

#include "src/base/clock.h"
#include "src/base/contention.h"
#include "src/base/time_slice.h"

namespace weir {
namespace {

constexpr int64_t kBlindNapNs = 100'000;
constexpr int64_t kMostBlindNapNs = 10'000'000;
constexpr int64_t kBlindNapNsPerRank = 20'000;  // per rank that shares the core
constexpr int64_t kMostNapNs = 50'000'000;      // a sleeping rank must still check for failures
constexpr int64_t kNapNsPerRank = 200'000;      // per rank on the core: polling takes about 5 % of it
constexpr int64_t kMostYieldingNs = 100'000'000;
constexpr uint32_t kLeastSpinsBesideLoad = 100;
constexpr uint32_t kMostDoublings = 4;  // of naps that an event ends
constexpr int64_t kComputesNs =
    1'000'000;  // longer between two calls than what a program does that only communicates

/// True if the kernel supports expedited membarrier and has registered this process for it.
bool barrier_ready() {
  static const bool ready = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
  return ready;  // a forked child keeps this value and the registration
}

void barrier_everywhere() {
  if (barrier_ready()) syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

timespec duration(int64_t ns) {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

uint32_t* word(std::atomic<uint32_t>& value) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  return reinterpret_cast<uint32_t*>(&value);
}

void pause_instruction() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

/// Sleeps until an event of `epoll`, or for `time`. The events are only counted as seen: the caller looks at
/// all that it waits for.
void sleep_until_event(int epoll, const timespec& time) {
  pollfd one{.fd = epoll, .events = POLLIN, .revents = 0};
  if (ppoll(&one, 1, &time, nullptr) <= 0) return;
  std::array<epoll_event, 32> seen;
  epoll_wait(epoll, seen.data(), seen.size(), 0);
}

/// What a thread has learnt from its waits beside load.
struct Lessons {
  ShortTimeSlice time_slice;
  uint32_t spins = UINT32_MAX;
  bool computes = false;  ///< between its calls, so that it wants its time slice back after each
  int64_t left_ns = 0;    ///< end of its last call that waited
};

constinit thread_local Lessons lessons;

}  // namespace

void prepare_doorbells() { barrier_ready(); }

void Doorbell::ring_fenced() {
  // Not a load: either the owner's exchange of the state comes later, and then it sees what was stored before
  // this, or this sees that the owner sleeps.
  if (state.fetch_or(0) != asleep || missing.fetch_sub(1) > 1) return;
  uint32_t expected = asleep;
  if (!state.compare_exchange_strong(expected, fenced)) return;  // another ringer wakes the owner
  rings.fetch_add(1);
  syscall(SYS_futex, word(rings), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// A wait begins with what the last ones have left. If the load may have gone, everything is as before it.
void Waiter::begin() {
  spins_ = policy_.spins;
  beside_load_ = false;
  const bool fenced =
      doorbell_ != nullptr && doorbell_->state.load(std::memory_order_relaxed) != Doorbell::awake;
  if (!fenced && lessons.left_ns == 0 && !lessons.time_slice.asked()) return;
  const int64_t now = now_ns();
  if (!std::exchange(began_, true) && lessons.left_ns != 0)
    lessons.computes = now - lessons.left_ns > kComputesNs;
  if (contention.lasts(now)) {
    beside_load_ = true;
    spins_ = std::min(spins_, lessons.spins);
    return;
  }
  if (fenced) doorbell_->state.store(Doorbell::awake);
  lessons.time_slice.give_back();
  lessons.left_ns = 0;
}

void Waiter::leave() {
  if (lessons.computes) lessons.time_slice.give_back();
  lessons.left_ns = now_ns();
}

/// Beside load, spins pay as long as the peer has a core of its own.
void Waiter::learn(bool spins_were_enough) {
  lessons.spins = spins_were_enough ? policy_.spins : std::max(spins_ / 2, kLeastSpinsBesideLoad);
}

void Waiter::give_way() {
  if (polls_ == 0) begin();
  if (polls_++ < spins_) return pause_instruction();
  if (polls_ == spins_ + 1) {
    if (beside_load_) learn(false);
    yielding_since_ns_ = now_ns_ = now_ns();
  }
  if (!contention.found(now_ns_)) now_ns_ = yield_core(now_ns_, policy_.crowd);
  if (contention.lasts(now_ns_)) {
    lessons.time_slice.ask();
    shortened_ = true;
  }
  if (contention.found(now_ns_) || now_ns_ - yielding_since_ns_ > kMostYieldingNs) polls_ = exhausted_at();
}

void Waiter::announce(int32_t needed) {
  if (doorbell_ == nullptr) return;
  ticket_ = doorbell_->rings.load();
  doorbell_->missing.store(needed);
  // A later ringer sees that the owner sleeps, and the poll after this sees all earlier stores.
  if (doorbell_->state.exchange(Doorbell::asleep) == Doorbell::awake) barrier_everywhere();
}

/// Whether the owner needs no sleep: `rings` of those that it needs were found by the last poll, and ringers
/// have counted the others; some may be counted twice, which only wakes it early.
bool Waiter::heard(int32_t rings) {
  return doorbell_ != nullptr && rings > 0 && doorbell_->missing.fetch_sub(rings) <= rings;
}

/// The nap's length; longer than kNapNs only where membarrier guarantees that no ring is missed.
int64_t Waiter::nap_ns() const {
  const int64_t crowd = policy_.crowd;
  if (doorbell_ == nullptr) {
    const int64_t blind = std::clamp(crowd * kBlindNapNsPerRank, kBlindNapNs, kMostBlindNapNs);
    return policy_.only_events
               ? std::clamp(blind << std::min(naps_, kMostDoublings), blind, std::max(blind, kNapNs))
               : blind;
  }
  return barrier_ready() ? std::clamp(crowd * kNapNsPerRank, kNapNs, kMostNapNs) : kNapNs;
}

void Waiter::nap() {
  const timespec time = duration(nap_ns());
  if (doorbell_ == nullptr) {
    ++naps_;
    sleep_until_event(policy_.events, time);
  } else {
    syscall(SYS_futex, word(doorbell_->rings), FUTEX_WAIT, ticket_, &time, nullptr, 0);
  }
}

void Waiter::withdraw() {
  if (doorbell_ == nullptr) return;
  doorbell_->state.store(contention.lasts(now_ns()) ? Doorbell::fenced : Doorbell::awake);
}

}  // namespace weir
