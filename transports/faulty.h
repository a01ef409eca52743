// SPDX-License-Identifier: Apache-2.0
/// faulty: decorates a transport with injected faults, for tests. Delays and cuts channels, but never changes
/// the order or bytes of messages.
/// Tests: tests/transports/faulty_test.cc
#pragma once

#include <cstdint>
#include <memory>

#include "transports/transport.h"

namespace weir {

/// Delays are counted in polls (calls), not in time, and drawn anew for each message.
struct Faults {
  uint64_t seed = 1;           ///< the same seed gives the same faults
  uint32_t ready_stall = 0;    ///< largest number of polls for which a ready end seems not ready
  uint32_t message_delay = 0;  ///< largest number of polls for which a message stays hidden
  uint32_t room_delay = 0;     ///< largest number of polls for which a free slot stays hidden
  uint64_t cut_after = 0;      ///< number of messages after which an end fails; 0: never
};

/// Decorates `inner`. The faults of each end depend on the seed and its LinkSpec only.
std::unique_ptr<Transport> make_faulty(std::unique_ptr<Transport> inner, const Faults& faults);

}  // namespace weir
