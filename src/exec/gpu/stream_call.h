// SPDX-License-Identifier: Apache-2.0
/// Submits one call as operations of streams, for StreamExecutor::queue_part().
/// Tests: tests/exec/stream_executor_test.cc
#pragma once

#include <vector>

#include "src/device/gpu_kernels.h"
#include "src/exec/gpu/move_launch.h"
#include "src/exec/gpu/stream_executor.h"

namespace weir::exec::gpu {

class StreamCall {
 public:
  /// All referenced objects must outlive this one. `streams` is indexed by lane.
  struct Dependencies {
    const StreamExecutor::Dependencies* executor = nullptr;
    const StreamExecutor::Prepared* prepared = nullptr;
    const Work* work = nullptr;
    const std::vector<device::GpuStream>* streams = nullptr;
  };
  explicit StreamCall(const Dependencies& dependencies);

  /// Submits the next part: first what tells other ranks which slots are free, then a round of a pass each
  /// time (queue_plan.h). Returns whether parts are left. Errors: those of the driver.
  Result<bool> submit_part();

 private:
  Status grant_first();
  Status grant(const QueuedChannel& channel, uint32_t slot);
  Status submit(const QueuedStep& at, size_t pass);
  Status await_places(const Step& step, device::GpuStream stream);
  Status give_places(const Step& step);
  Status move(const Step& step, size_t pass, device::GpuStream stream);
  Status move_chunk(MoveLaunch& launch, device::GpuStream stream);
  void describe(const Step& step, uint32_t i, size_t pass, uint64_t offset, MoveLaunch& launch) const;
  std::byte* address(const Place& place, uint32_t chunk, const Piece& piece, uint64_t offset) const;

  const Place& place(uint16_t index) const { return prepared_.program.places[index]; }
  const QueuedChannel& channel(const Place& place) const { return prepared_.plan.channels[place.index]; }
  device::GpuStream stream_of(uint32_t lane) const { return (*dependencies_.streams)[lane]; }
  uint32_t slot_of(const Place& place) const { return done_[place.index] % kQueuedSlots; }
  device::GpuFlag flag_of(const QueuedChannel& channel, uint32_t slot) const {
    return dependencies_.executor->flags->flag(channel.receiver, channel.flag + slot);
  }

  const Dependencies dependencies_;
  const StreamExecutor::Prepared& prepared_;
  const Work& work_;
  device::Gpu& gpu_;
  const uint32_t stamp_;
  const size_t element_;
  const Division division_;
  const uint64_t factor_;
  bool begun_ = false;          ///< whether the first part is submitted
  size_t pass_ = 0;             ///< of the next round
  size_t round_ = 0;            ///< the next round of the pass
  std::vector<uint32_t> done_;  ///< number of messages of this call so far, by channel
};

}  // namespace weir::exec::gpu
