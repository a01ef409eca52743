// SPDX-License-Identifier: Apache-2.0

#include "transports/link_check.h"

#include <fmt/format.h>

namespace weir {

std::string outgoing_name(const LinkSpec& spec) {
  return fmt::format("channel {} from rank {} to rank {}", spec.channel, spec.self, spec.peer);
}

std::string incoming_name(const LinkSpec& spec) {
  return fmt::format("channel {} from rank {} to rank {}", spec.channel, spec.peer, spec.self);
}

Status check_spec(const LinkSpec& spec) {
  if (spec.slots > 0 && spec.slot_bytes > 0) return {};
  return Status(Code::invalid_argument,
                fmt::format("a channel between ranks {} and {} cannot have {} slots of {} bytes; "
                            "expected at least one of each",
                            spec.self, spec.peer, spec.slots, spec.slot_bytes));
}

Status different_shapes(const std::string& name, const LinkSpec& spec, uint32_t other_slots,
                        uint32_t other_slot_bytes) {
  return Status(
      Code::invalid_usage,
      fmt::format(
          "{} has {} slots of {} bytes at rank {} but {} slots of {} bytes at rank {}; set WEIR_SLOTS "
          "and WEIR_SLOT_BYTES to the same values on all ranks",
          name, spec.slots, spec.slot_bytes, spec.self, other_slots, other_slot_bytes, spec.peer));
}

}  // namespace weir
