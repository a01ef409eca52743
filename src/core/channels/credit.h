// SPDX-License-Identifier: Apache-2.0
/// Receive credit: bytes that peers may have in flight to this process (transports/credit_budget.h).
///
/// Pure, thread-safe functions.
/// Tests: tests/core/credit_test.cc
#pragma once

#include <cstdint>
#include <span>

#include "src/base/options.h"
#include "src/core/diagnosis/watchdog.h"

namespace weir::core {

/// Credit before the network's rates are known; bytes.
uint64_t first_credit(const Options& options);

/// Bytes that a network of `seconds_per_byte` carries in 1.3 ms, divided evenly among the processes of a
/// host: half of what shallow switch ports buffer in that time, and enough for a receiver that polls every
/// millisecond. WEIR_CREDIT overrides it.
uint64_t credit_of(const Options& options, double seconds_per_byte, std::span<const PeerAddress> peers,
                   Rank self);

}  // namespace weir::core
