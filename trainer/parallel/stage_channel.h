// SPDX-License-Identifier: Apache-2.0
/// One direction between two neighbouring stages: activations forward, or gradients backward. Both sides send
/// and receive the same micro-batches in the same order.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "trainer/shard/calls.h"
#include "trainer/shard/record.h"

namespace weir::parallel {

/// Used by one thread at a time. Default-constructed: empty, for the ends of a pipeline.
class StageChannel {
 public:
  StageChannel() = default;
  /// `comm` consists of the two ranks and serves this direction only; arrays are in the memory of `gpu`, or
  /// in host memory if it is null.
  static Result<StageChannel> make(shard::Communicator comm, int peer, shard::GpuOps* gpu);

  bool exists() const { return comm_.handle() != nullptr; }
  /// Waits until `count` floats have arrived. `unit` is passed to the record.
  Status receive(float* to, size_t count, int unit, shard::PassRecord& record);
  /// Queues `count` floats, which must stay valid until sent(slot).
  Status send(const float* from, size_t count, size_t slot, int unit, shard::PassRecord& record);
  /// Waits until the floats that were queued for the slot are sent.
  Status sent(size_t slot, shard::PassRecord& record);
  Status all_sent(shard::PassRecord& record);
  /// Ends calls in flight with an error.
  void abort() { comm_.abort(); }

 private:
  struct Sending {
    shard::PassRecord::Mark mark;
    int unit;
  };

  StageChannel(shard::Communicator comm, int peer, shard::Stream stream)
      : comm_(std::move(comm)), peer_(peer), stream_(std::make_unique<shard::Stream>(std::move(stream))) {}

  shard::Communicator comm_;
  int peer_ = 0;
  std::vector<std::optional<Sending>> sending_;  ///< index: slot
  std::unique_ptr<shard::Stream> stream_;        ///< declared last: its destructor waits for sends
};

}  // namespace weir::parallel
