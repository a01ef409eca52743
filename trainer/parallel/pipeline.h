// SPDX-License-Identifier: Apache-2.0
/// The stages of a pipeline, and the channels from each to the ones before and after.
#pragma once

#include <nccl.h>

#include <cstddef>

#include "trainer/parallel/stage_channel.h"
#include "trainer/shard/calls.h"
#include "trainer/shard/record.h"
#include "weir/status.h"

namespace weir::parallel {

/// Used by one thread at a time. Default: one stage, of which nothing leaves.
class Pipeline {
 public:
  /// `record` outlives this.
  explicit Pipeline(shard::PassRecord& record) : record_(record) {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Makes the channels. Collective over `chain`, whose ranks are the stages in order; arrays are in the
  /// memory of `gpu`, or the host's.
  Status join(const shard::Communicator& chain, int stage, int stages, shard::GpuOps* gpu);

  /// Nothing for the first stage, nor where `count` is 0. Waits. `unit` is told to the record, here and
  /// below.
  Status receive_activations(float* to, size_t count, int unit);
  /// Nothing for the last stage. Waits for what the slot held before.
  Status send_activations(const float* from, size_t count, size_t slot, int unit);
  /// Waits until the slot's activations have left.
  Status activations_sent(size_t slot) { return activations_out_.sent(slot, record_); }
  /// Gradients likewise, the other way.
  Status receive_gradients(float* to, size_t count, int unit);
  Status send_gradients(const float* from, size_t count, size_t slot, int unit);
  Status gradients_sent(size_t slot) { return gradients_out_.sent(slot, record_); }
  /// Waits until all has left.
  Status all_sent();
  /// Ends what is under way with an error.
  void abort();

 private:
  Result<shard::Communicator> neighbours(const shard::Communicator& chain, int parity) const;

  shard::PassRecord& record_;
  int stage_ = 0;
  int stages_ = 1;
  StageChannel activations_in_, activations_out_, gradients_in_, gradients_out_;
};

}  // namespace weir::parallel
