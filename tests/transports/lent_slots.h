// SPDX-License-Identifier: Apache-2.0
/// A transport whose ends all have their slots in memory that it was lent.
///
/// Not thread-safe.
#pragma once

#include <memory>
#include <utility>

#include "tests/transports/lent_memory.h"
#include "transports/forwarding.h"
#include "transports/slot_registrar.h"

namespace weir::testing {

class LentSlots final : public ForwardingTransport {
 public:
  explicit LentSlots(std::unique_ptr<Transport> inner) : ForwardingTransport(std::move(inner)) {
    const Status lent = slot_registrar()->register_slots(memory_);
    EXPECT_TRUE(lent.ok()) << lent.message();
  }
  ~LentSlots() override { slot_registrar()->deregister_slots(memory_); }

  Result<std::unique_ptr<Sender>> open_sender(BytesView peer_address, const LinkSpec& spec) override {
    return ForwardingTransport::open_sender(peer_address, with_slots(spec));
  }
  Result<std::unique_ptr<Receiver>> open_receiver(BytesView peer_address, const LinkSpec& spec) override {
    return ForwardingTransport::open_receiver(peer_address, with_slots(spec));
  }

 private:
  /// Slots of their own for each end, of a size that may be lent. What is never written takes no memory.
  static constexpr size_t kBytes = size_t{16} << 20;

  LinkSpec with_slots(LinkSpec spec) {
    spec.slot_bytes = (spec.slot_bytes + 63) / 64 * 64;
    spec.lent = memory_.begin() + used_;
    used_ += size_t{spec.slots} * spec.slot_bytes;
    EXPECT_LE(used_, kBytes);
    return spec;
  }

  LentFile memory_{kBytes};
  size_t used_ = 0;
};

}  // namespace weir::testing
