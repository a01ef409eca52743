// SPDX-License-Identifier: Apache-2.0

#include "trainer/parallel/pipeline.h"

namespace weir::parallel {

using shard::Communicator;

/// The pair of stages at one boundary, identified by the number of the earlier stage; empty if this stage is
/// at no boundary of that parity.
Result<Communicator> Pipeline::neighbours(const Communicator& chain, int parity) const {
  const int border = stage_ % 2 == parity ? stage_ : stage_ - 1;
  const bool exists = border >= 0 && border + 1 < stages_;
  return Communicator::split(chain.handle(), exists ? border : NCCL_SPLIT_NOCOLOR, stage_, "channel");
}

/// Each channel has a communicator of its own, so that no channel waits for another's order of calls.
Status Pipeline::join(const Communicator& chain, int stage, int stages, shard::GpuOps* gpu) {
  stage_ = stage;
  stages_ = stages;
  if (stages == 1) return {};
  for (const int parity : {0, 1}) {
    const bool after = stage_ % 2 == parity;  // whether the boundary lies after this stage
    const int peer = after ? 1 : 0;
    for (StageChannel* channel :
         {after ? &activations_out_ : &activations_in_, after ? &gradients_in_ : &gradients_out_}) {
      auto comm = neighbours(chain, parity);
      WEIR_TRY(comm.status());
      if (comm->handle() == nullptr) continue;
      auto made = StageChannel::make(std::move(*comm), peer, gpu);
      WEIR_TRY(made.status());
      *channel = std::move(*made);
    }
  }
  return {};
}

Status Pipeline::receive_activations(float* to, size_t count, int unit) {
  return stage_ == 0 || count == 0 ? Status() : activations_in_.receive(to, count, unit, record_);
}

Status Pipeline::send_activations(const float* from, size_t count, size_t slot, int unit) {
  const bool nothing = stage_ == stages_ - 1 || count == 0;
  return nothing ? Status() : activations_out_.send(from, count, slot, unit, record_);
}

Status Pipeline::receive_gradients(float* to, size_t count, int unit) {
  const bool nothing = stage_ == stages_ - 1 || count == 0;
  return nothing ? Status() : gradients_in_.receive(to, count, unit, record_);
}

Status Pipeline::send_gradients(const float* from, size_t count, size_t slot, int unit) {
  return stage_ == 0 || count == 0 ? Status() : gradients_out_.send(from, count, slot, unit, record_);
}

Status Pipeline::all_sent() {
  WEIR_TRY(activations_out_.all_sent(record_));
  return gradients_out_.all_sent(record_);
}

void Pipeline::abort() {
  for (StageChannel* channel : {&activations_in_, &activations_out_, &gradients_in_, &gradients_out_})
    channel->abort();
}

}  // namespace weir::parallel
