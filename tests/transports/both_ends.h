// SPDX-License-Identifier: Apache-2.0
/// A channel from rank 0 to rank 1 with both ends in this thread, for tests of what befalls it.
#pragma once

#include <memory>

#include "tests/transports/link.h"

namespace weir::testing {

class BothEnds : public ::testing::Test {
 protected:
  static constexpr uint32_t kSlots = 4;

  /// From nodes_[0] to nodes_[1], or to whoever `address` is of. Ends that there were are gone, and what was
  /// sent and taken counts from 0 again.
  void open_channel(uint32_t channel, uint32_t slot_bytes, const Bytes& address);
  void open_channel(uint32_t channel, uint32_t slot_bytes) {
    open_channel(channel, slot_bytes, nodes_[1].transport->address());
  }
  void close_channel() { sender_.reset(), receiver_.reset(); }

  /// Puts messages into all free slots; how many.
  uint64_t fill_slots(uint32_t bytes);
  void take_all(uint32_t bytes);
  void exchange(int rounds, uint32_t bytes);

  std::byte* slot_memory_[2] = {};  ///< where a rank's slots are to be; null: as the transport likes
  Node nodes_[2];
  std::unique_ptr<Sender> sender_;
  std::unique_ptr<Receiver> receiver_;
  uint64_t sent_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace weir::testing
