// SPDX-License-Identifier: Apache-2.0

#include "src/base/doorbell.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "src/base/clock.h"

namespace weir {
namespace {

constexpr int64_t kBlindNapNs = 100'000;
constexpr int64_t kMostBlindNapNs = 10'000'000;
constexpr int64_t kBlindNapNsPerRank = 20'000;  // per rank that shares the core
constexpr int64_t kMostNapNs = 50'000'000;      // a sleeping rank must still check for failures
constexpr int64_t kNapNsPerRank = 200'000;      // per rank on the core: polling takes about 5 % of it
constexpr int64_t kMostYieldingNs = 100'000'000;
constexpr uint32_t kYieldsPerClock = 16;  ///< yields between two reads of the clock

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

}  // namespace

void prepare_doorbells() { barrier_ready(); }

void Doorbell::wake() {
  if (sleeping.exchange(0) == 0) return;  // another ringer has cleared the flag and wakes the owner
  rings.fetch_add(1);
  syscall(SYS_futex, word(rings), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Waiter::give_way() {
  if (polls_++ < policy_.spins) return pause_instruction();
  sched_yield();
  if ((polls_ - policy_.spins) % kYieldsPerClock != 1) return;
  const int64_t now = now_ns();
  if (polls_ - policy_.spins == 1) yielding_since_ns_ = now;
  if (now - yielding_since_ns_ > kMostYieldingNs) polls_ = policy_.spins + policy_.yields;
}

void Waiter::announce() {
  if (doorbell_ == nullptr) return;
  ticket_ = doorbell_->rings.load();
  doorbell_->sleeping.store(1);
  barrier_everywhere();  // a later ringer sees `sleeping`; the poll after this sees all earlier stores
}

/// The nap's length; longer than kNapNs only where membarrier guarantees that no ring is missed.
int64_t Waiter::nap_ns() const {
  const int64_t crowd = policy_.crowd;
  if (doorbell_ == nullptr) return std::clamp(crowd * kBlindNapNsPerRank, kBlindNapNs, kMostBlindNapNs);
  return barrier_ready() ? std::clamp(crowd * kNapNsPerRank, kNapNs, kMostNapNs) : kNapNs;
}

void Waiter::nap() {
  const timespec time = duration(nap_ns());
  if (doorbell_ == nullptr) {
    nanosleep(&time, nullptr);
  } else {
    syscall(SYS_futex, word(doorbell_->rings), FUTEX_WAIT, ticket_, &time, nullptr, 0);
  }
}

void Waiter::withdraw() {
  if (doorbell_ != nullptr) doorbell_->sleeping.store(0);
}

}  // namespace weir
