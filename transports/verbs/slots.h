// SPDX-License-Identifier: Apache-2.0
/// Positions of the messages of one end of a channel of verbs: heads in pages of this process; bodies behind
/// them, or separately, in memory that was registered with SlotRegistrar::register_slots.
/// Tests: tests/transports/verbs_test.cc
#pragma once

#include "transports/transport.h"
#include "transports/verbs/memory.h"
#include "transports/verbs/wire.h"

namespace weir::verbs {

/// Keys of registered memory: for requests of this end, and for those of the peer.
struct RegionKeys {
  uint32_t local = 0;
  uint32_t remote = 0;
};
struct SlotKeys {
  RegionKeys heads;
  RegionKeys bodies;
};

class Slots {
 public:
  /// `registered`: the memory that contains LinkSpec::slot_memory, else null; outlives the slots.
  static Result<Slots> make(const LinkSpec& spec, const RegisteredMemory* registered);

  bool apart() const { return registered_ != nullptr; }
  MessageHead* head(uint64_t message) const {
    return reinterpret_cast<MessageHead*>(pages_.begin() + message % count_ * head_stride_);
  }
  std::byte* body(uint64_t message) const { return bodies_ + message % count_ * body_stride_; }
  size_t head_stride() const { return head_stride_; }
  size_t body_stride() const { return body_stride_; }

  /// Registers memory with the device that is not registered yet.
  Result<SlotKeys> enroll(drivers::VerbsDevice& device);

 private:
  explicit Slots(Memory pages) : pages_(std::move(pages)) {}

  Memory pages_;
  const RegisteredMemory* registered_ = nullptr;
  std::byte* bodies_ = nullptr;
  uint32_t count_ = 1;
  size_t head_stride_ = 0;
  size_t body_stride_ = 0;
};

}  // namespace weir::verbs
