// SPDX-License-Identifier: Apache-2.0
/// One direction between two neighbouring stages: activations on their way forward, or gradients on their
/// way back. Both sides send and receive the same micro-batches in the same order.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "trainer/shard/calls.h"
#include "trainer/shard/record.h"
#include "weir/status.h"

namespace weir::parallel {

/// Used by one thread at a time. Empty when default-made: at the ends of a pipeline.
class StageChannel {
 public:
  StageChannel() = default;
  /// `comm` is of the two ranks and of this direction alone; arrays are in the memory of `gpu`, or the
  /// host's.
  static Result<StageChannel> make(shard::Communicator comm, int peer, shard::GpuOps* gpu);

  bool exists() const { return comm_.handle() != nullptr; }
  /// Waits until `count` floats are there. `unit` is told to the record.
  Status receive(float* to, size_t count, int unit, shard::PassRecord& record);
  /// Queues `count` floats, which must stay until sent(slot).
  Status send(const float* from, size_t count, size_t slot, int unit, shard::PassRecord& record);
  /// Waits until what was queued for the slot has left.
  Status sent(size_t slot, shard::PassRecord& record);
  Status all_sent(shard::PassRecord& record);
  /// Ends what is under way with an error.
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
  std::vector<std::optional<Sending>> sending_;  ///< by slot
  std::unique_ptr<shard::Stream> stream_;        ///< last: its end waits for what uses the rest
};

}  // namespace weir::parallel
