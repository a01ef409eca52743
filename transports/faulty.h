// SPDX-License-Identifier: Apache-2.0
/// faulty: another transport with troubles of its own, for tests. It delays and cuts, but never changes the
/// order or the bytes of messages.
#pragma once

#include <cstdint>
#include <memory>

#include "transports/transport.h"

namespace weir {

/// Delays are counted in looks (calls), not in time, and drawn anew for each message.
struct Faults {
  uint64_t seed = 1;           ///< same seed, same troubles
  uint32_t ready_stall = 0;    ///< most looks for which ready() says false though the end is ready
  uint32_t message_delay = 0;  ///< most looks for which a message stays hidden
  uint32_t room_delay = 0;     ///< most looks for which a free slot stays hidden
  uint64_t cut_after = 0;      ///< an end fails after so many messages; 0: never
};

/// Decorates `inner`. Each end gets its own stream of troubles from the seed and its LinkSpec.
std::unique_ptr<Transport> make_faulty(std::unique_ptr<Transport> inner, const Faults& faults);

}  // namespace weir
