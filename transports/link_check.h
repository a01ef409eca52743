// SPDX-License-Identifier: Apache-2.0
/// Names and checks of a LinkSpec that all transports share.
/// Tests: tests/transports/conformance.cc
#pragma once

#include <string>

#include "transports/transport.h"

namespace weir {

/// Name of the outgoing channel of spec.self, and of the incoming one: "channel 3 from rank 0 to rank 1".
std::string outgoing_name(const LinkSpec& spec);
std::string incoming_name(const LinkSpec& spec);

/// Fails for a channel without slots.
Status check_spec(const LinkSpec& spec);

/// The error for ends that were opened with different shapes. `spec` is this end's.
Status different_shapes(const std::string& name, const LinkSpec& spec, uint32_t other_slots,
                        uint32_t other_slot_bytes);

}  // namespace weir
