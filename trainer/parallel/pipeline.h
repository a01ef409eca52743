// SPDX-License-Identifier: Apache-2.0
/// The stages of a pipeline, and each stage's channels to the previous and the next one.
#pragma once

#include <nccl.h>

#include <cstddef>

#include "src/base/status.h"
#include "trainer/parallel/stage_channel.h"
#include "trainer/shard/calls.h"
#include "trainer/shard/record.h"

namespace weir::parallel {

/// Used by one thread at a time. Default-constructed: a single stage without channels.
class Pipeline {
 public:
  /// `record` outlives this.
  explicit Pipeline(shard::PassRecord& record) : record_(record) {}
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Makes the channels. Collective over `chain`, whose ranks are the stages in order; arrays are in the
  /// memory of `gpu`, or in host memory if it is null.
  Status join(const shard::Communicator& chain, int stage, int stages, shard::GpuOps* gpu);

  /// Receives activations and waits for them; does nothing in the first stage or if `count` is 0. `unit` is
  /// passed to the record, here and below.
  Status receive_activations(float* to, size_t count, int unit);
  /// Sends activations; does nothing in the last stage. Waits for the slot's earlier contents to be sent.
  Status send_activations(const float* from, size_t count, size_t slot, int unit);
  /// Waits until the slot's activations are sent.
  Status activations_sent(size_t slot) { return activations_out_.sent(slot, record_); }
  /// Sends and receives gradients in the same way, in the opposite direction.
  Status receive_gradients(float* to, size_t count, int unit);
  Status send_gradients(const float* from, size_t count, size_t slot, int unit);
  Status gradients_sent(size_t slot) { return gradients_out_.sent(slot, record_); }
  /// Waits until everything is sent.
  Status all_sent();
  /// Ends calls in flight with an error.
  void abort();

 private:
  Result<shard::Communicator> neighbours(const shard::Communicator& chain, int parity) const;

  shard::PassRecord& record_;
  int stage_ = 0;
  int stages_ = 1;
  StageChannel activations_in_, activations_out_, gradients_in_, gradients_out_;
};

}  // namespace weir::parallel
