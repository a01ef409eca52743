// SPDX-License-Identifier: Apache-2.0

#include "transports/verbs/slots.h"

namespace weir::verbs {

Result<Slots> Slots::make(const LinkSpec& spec, const LentMemory* lent) {
  constexpr size_t kHeadStride = 64;
  const size_t together = slot_stride(spec.slot_bytes);
  auto pages = Memory::allocate(spec.slots * (lent != nullptr ? kHeadStride : together));
  WEIR_TRY(pages.status());
  Slots made(std::move(*pages));
  made.lent_ = lent;
  made.count_ = spec.slots;
  made.head_stride_ = lent != nullptr ? kHeadStride : together;
  made.body_stride_ = lent != nullptr ? spec.slot_bytes : together;
  made.bodies_ = lent != nullptr ? spec.lent : made.pages_.begin() + sizeof(MessageHead);
  return made;
}

Result<SlotKeys> Slots::enroll(drivers::VerbsDevice& device) {
  const auto pages = pages_.enroll(device);
  WEIR_TRY(pages.status());
  const RegionKeys heads{(*pages)->local_key(), (*pages)->remote_key()};
  if (lent_ == nullptr) return SlotKeys{heads, heads};
  const drivers::VerbsRegion* const bodies = lent_->region(device);
  if (bodies == nullptr)
    return Status(Code::internal_error, "the memory of the slots is not registered with the device");
  return SlotKeys{heads, {bodies->local_key(), bodies->remote_key()}};
}

}  // namespace weir::verbs
