// SPDX-License-Identifier: Apache-2.0
/// A transport whose ends all have their slots in memory that it was registered.
///
/// Not thread-safe.
#pragma once

#include <memory>
#include <utility>

#include "tests/transports/memory_file.h"
#include "transports/forwarding.h"
#include "transports/slot_registrar.h"

namespace weir::testing {

class RegisteredSlots final : public ForwardingTransport {
 public:
  explicit RegisteredSlots(std::unique_ptr<Transport> inner) : ForwardingTransport(std::move(inner)) {
    const Status registered = slot_registrar()->register_slots(memory_);
    EXPECT_TRUE(registered.ok()) << registered.message();
  }
  ~RegisteredSlots() override { slot_registrar()->deregister_slots(memory_); }

  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_address, const LinkSpec& spec) override {
    return ForwardingTransport::open_sender(peer_address, with_slots(spec));
  }
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_address, const LinkSpec& spec) override {
    return ForwardingTransport::open_receiver(peer_address, with_slots(spec));
  }

 private:
  /// Slots of their own for each end, of a size that may be registered. What is never written takes no
  /// memory.
  static constexpr size_t kBytes = size_t{16} << 20;

  LinkSpec with_slots(LinkSpec spec) {
    spec.slot_bytes = (spec.slot_bytes + 63) / 64 * 64;
    spec.slot_memory = memory_.begin() + used_;
    used_ += size_t{spec.slots} * spec.slot_bytes;
    EXPECT_LE(used_, kBytes);
    return spec;
  }

  MemoryFile memory_{kBytes};
  size_t used_ = 0;
};

}  // namespace weir::testing
