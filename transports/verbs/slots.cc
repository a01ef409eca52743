// SPDX-License-Identifier: Apache-2.0

#include "transports/verbs/slots.h"

namespace weir::verbs {

Result<Slots> Slots::make(const LinkSpec& spec, const RegisteredMemory* registered) {
  constexpr size_t kHeadStride = 64;
  const size_t together = slot_stride(spec.slot_bytes);
  auto pages = Memory::allocate(spec.slots * (registered != nullptr ? kHeadStride : together));
  WEIR_TRY(pages.status());
  Slots made(std::move(*pages));
  made.registered_ = registered;
  made.count_ = spec.slots;
  made.head_stride_ = registered != nullptr ? kHeadStride : together;
  made.body_stride_ = registered != nullptr ? spec.slot_bytes : together;
  made.bodies_ = registered != nullptr ? spec.slot_memory : made.pages_.begin() + sizeof(MessageHead);
  return made;
}

Result<SlotKeys> Slots::enroll(drivers::VerbsDevice& device) {
  const auto pages = pages_.enroll(device);
  WEIR_TRY(pages.status());
  const RegionKeys heads{(*pages)->local_key(), (*pages)->remote_key()};
  if (registered_ == nullptr) return SlotKeys{heads, heads};
  const drivers::VerbsRegion* const bodies = registered_->region(device);
  if (bodies == nullptr)
    return Status(Code::internal_error, "the memory of the slots is not registered with the device");
  return SlotKeys{heads, {bodies->local_key(), bodies->remote_key()}};
}

}  // namespace weir::verbs
