// SPDX-License-Identifier: Apache-2.0
/// Waiting for what a GPU writes: it rings no doorbell, so the host has to look.
#pragma once

#include <sched.h>
#include <time.h>

#include <cstdint>

namespace weir::core {

/// What a communicator's streams get at its end to become empty; less after an abort, when they may hang for
/// other reasons.
inline constexpr int64_t kStreamEndNs = 2'000'000'000;

/// Calls look() until it is true, giving the core away between looks, then with naps of 50 us; look() gets
/// the number of naps taken.
template <typename Look>
void poll_until(Look look) {
  constexpr int kYields = 1000;
  for (int i = 0; i < kYields; ++i) {
    if (look(int64_t{0})) return;
    sched_yield();
  }
  const timespec nap{0, 50'000};
  for (int64_t naps = 1; !look(naps); ++naps) nanosleep(&nap, nullptr);
}

}  // namespace weir::core
