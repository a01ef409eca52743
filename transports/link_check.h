// SPDX-License-Identifier: Apache-2.0
/// What all transports say and check about a LinkSpec.
#pragma once

#include <string>

#include "transports/transport.h"

namespace weir {

/// "channel 3 from rank 0 to rank 1": the outgoing channel of spec.self, and the incoming one.
std::string outgoing_name(const LinkSpec& spec);
std::string incoming_name(const LinkSpec& spec);

/// Refuses a channel without slots.
Status check_spec(const LinkSpec& spec);

/// The refusal of ends that were opened with different shapes. `spec` is this end's.
Status different_shapes(const std::string& name, const LinkSpec& spec, uint32_t other_slots,
                        uint32_t other_slot_bytes);

}  // namespace weir
