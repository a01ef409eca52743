// SPDX-License-Identifier: Apache-2.0
/// Waiting for a GPU's writes: a GPU rings no doorbell, so the host has to poll.
/// Tests: tests/core/device_collectives_test.cc
#pragma once

#include <time.h>

#include <cstdint>

#include "src/base/contention.h"

namespace weir::core {

/// Time for a communicator's streams to drain at its end; ns. Shorter after an abort, since they may hang.
inline constexpr int64_t kStreamEndNs = 2'000'000'000;

/// Calls look() until it returns true, first with yields of the core between calls, then, or on a core that
/// others compute on, with sleeps of 50 us; look() gets the number of sleeps so far.
template <typename Look>
void poll_until(Look look) {
  constexpr int kYields = 1000;
  for (int i = 0; i < kYields; ++i) {
    if (look(int64_t{0})) return;
    if (!try_yield_core()) break;
  }
  const timespec nap{0, 50'000};
  for (int64_t naps = 1; !look(naps); ++naps) nanosleep(&nap, nullptr);
}

}  // namespace weir::core
