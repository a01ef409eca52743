// SPDX-License-Identifier: Apache-2.0
/// How many bytes peers may have under way to this process (transports/credit_budget.h).
///
/// Pure, thread-safe functions.
#pragma once

#include <cstdint>
#include <span>

#include "src/base/options.h"
#include "src/core/diagnosis/watchdog.h"

namespace weir::core {

/// Until the network is known.
uint64_t first_credit(const Options& options);

/// So much as a network of `seconds_per_byte` carries in 1.3 ms: half of what the shallow ports of switches
/// hold for that long, and enough for a receiver that looks every millisecond. The processes of a host share
/// it evenly. WEIR_CREDIT says otherwise.
uint64_t credit_of(const Options& options, double seconds_per_byte, std::span<const PeerAddress> peers,
                   Rank self);

}  // namespace weir::core
