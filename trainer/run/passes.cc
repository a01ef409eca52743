// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/passes.h"

#include <algorithm>

namespace weir::trainer {
namespace {

/// Passes the gradients of a unit's pieces to the reductions.
class ShardedGradients final : public Gradients {
 public:
  ShardedGradients(shard::ShardEngine& shards, int unit, gpu::GpuOps* gpu)
      : shards_(shards), unit_(unit), gpu_(gpu) {}

  float* open() override {
    auto sum = shards_.gradients(unit_);
    if (sum.ok()) return sum->data();
    if (status_.ok()) status_ = sum.status();
    auto lost = Array::make(static_cast<Index>(shards_.units()[static_cast<size_t>(unit_)].parameters), gpu_);
    if (lost.ok()) lost_ = std::move(*lost);
    return lost_.data();
  }
  void close(Index first) override {
    const auto grain = static_cast<uint64_t>(first);
    Status closed = shards_.close(unit_, {grain, grain + 1});
    if (status_.ok()) status_ = std::move(closed);
  }
  const Status& status() const { return status_; }

 private:
  shard::ShardEngine& shards_;
  const int unit_;
  gpu::GpuOps* const gpu_;
  Status status_;
  Array lost_;  ///< receives gradients after an error
};

}  // namespace

Result<Passes> Passes::make(const With& with, const Batch& largest, int slots) {
  Passes passes(with);
  for (int slot = 0; slot < slots; ++slot) WEIR_TRY(passes.make_slot(largest));
  passes.gradients_.resize(with.team.shape().stages > 1 ? 2 : 1);
  for (Array& gradient : passes.gradients_)
    WEIR_TRY(passes.make(gradient, static_cast<Index>(passes.floats_between(largest))));
  WEIR_TRY(passes.make(passes.scratch_, with.model.scratch_floats(largest)));
  WEIR_TRY(passes.make(passes.tied_, with.model.tied_floats(largest)));
  return passes;
}

Status Passes::make(Array& array, Index count) const {
  auto made = Array::make(count, with_.where.gpu());
  if (made.ok()) array = std::move(*made);
  return made.status();
}

Status Passes::make_slot(const Batch& largest) {
  Slot& slot = slots_.emplace_back();
  const auto between = static_cast<Index>(floats_between(largest));
  if (!with_.team.is_first()) WEIR_TRY(make(slot.input, between));
  for (size_t at = 0; at < with_.units.count(); ++at) {
    WEIR_TRY(make(slot.saved.emplace_back(), unit(at).saved_floats(largest)));
    WEIR_TRY(make(slot.output.emplace_back(), &unit(at) == &with_.model.head() ? 0 : between));
  }
  return {};
}

size_t Passes::floats_between(const Batch& batch) const {
  return static_cast<size_t>(batch.rows() * with_.model.config().width);
}

/// The first error of the Ops or the slice sums.
Status Passes::status() const {
  if (const parallel::SliceSums* slices = with_.team.slices()) WEIR_TRY(slices->status());
  return with_.ops.status();
}

Result<std::span<const float>> Passes::gathered(size_t at) {
  const int64_t begin = Recorder::steady_ns();
  auto parameters = with_.shards.gathered(static_cast<int>(at));
  with_.recorder.add(Phase::wait, number(at), begin);
  return parameters;
}

/// Receives the activations of the previous stage, after the slot's earlier activations are sent.
Status Passes::receive(const Batch& batch, size_t slot) {
  const int64_t begin = Recorder::steady_ns();
  parallel::Pipeline& pipeline = with_.team.pipeline();
  WEIR_TRY(pipeline.activations_sent(slot));
  WEIR_TRY(pipeline.receive_activations(slots_[slot].input.data(), floats_between(batch), number(0)));
  with_.recorder.add(Phase::wait, number(0), begin);
  return {};
}

Batch Passes::with_tied(const Batch& batch) {
  Batch own = batch;
  own.tied = with_.model.tied_in(tied_.data(), batch);
  return own;
}

Status Passes::forward(const Batch& given, int micro_batch, float* logits) {
  const Batch batch = with_tied(given);
  const size_t number_of_slot = slot_of(micro_batch);
  Slot& slot = slots_[number_of_slot];
  WEIR_TRY(receive(batch, number_of_slot));
  const float* input = slot.input.data();
  for (size_t at = 0; at < with_.units.count(); ++at) {
    auto parameters = gathered(at);
    WEIR_TRY(parameters.status());
    const int64_t begin = Recorder::steady_ns();
    if (at == 0 && with_.model.config().tied)
      with_.where.copy(parameters->data(), static_cast<size_t>(with_.model.table_floats()) * sizeof(float),
                       tied_.data());
    float* const output = slot.output[at].data();
    if (logits != nullptr && &unit(at) == &with_.model.head()) {
      with_.model.head().logits(compute(), batch, parameters->data(), input, logits);
    } else if (batch.sequences > 0) {
      unit(at).forward(compute(), batch, parameters->data(), input, output, slot.saved[at].data());
    }
    with_.ops.finish();
    WEIR_TRY(status());
    with_.recorder.add(Phase::forward, number(at), begin);
    WEIR_TRY(with_.shards.release(static_cast<int>(at)));
    input = output;
  }
  return with_.team.pipeline().send_activations(input, floats_between(batch), number_of_slot,
                                                number(with_.units.count() - 1));
}

Status Passes::backward(const Batch& given, int micro_batch) {
  const Batch batch = with_tied(given);
  Slot& slot = slots_[slot_of(micro_batch)];
  const size_t turn = static_cast<size_t>(micro_batch) % gradients_.size();
  Array& gradient = gradients_[turn];
  const int last = number(with_.units.count() - 1);
  int64_t begin = Recorder::steady_ns();
  parallel::Pipeline& pipeline = with_.team.pipeline();
  WEIR_TRY(pipeline.gradients_sent(turn));
  WEIR_TRY(pipeline.receive_gradients(gradient.data(), floats_between(batch), last));
  with_.recorder.add(Phase::wait, last, begin);
  for (size_t at = with_.units.count(); at-- > 0;) {
    const int own = static_cast<int>(at);
    const float* input = at > 0 ? slot.output[at - 1].data() : slot.input.data();
    auto parameters = gathered(at);
    WEIR_TRY(parameters.status());
    begin = Recorder::steady_ns();
    if (batch.sequences > 0) {
      ShardedGradients gradients(with_.shards, own, with_.where.gpu());
      unit(at).backward(compute(), batch, parameters->data(), input, slot.saved[at].data(), gradient.data(),
                        gradients);
      with_.ops.finish();
      WEIR_TRY(gradients.status());
    }
    WEIR_TRY(status());
    with_.recorder.add(Phase::backward, number(at), begin);
    begin = Recorder::steady_ns();
    WEIR_TRY(with_.shards.reduce(own));
    with_.recorder.add(Phase::wait, number(at), begin);
    WEIR_TRY(with_.shards.release(own));
  }
  return pipeline.send_gradients(gradient.data(), floats_between(batch), turn, number(0));
}

Index Passes::floats() const {
  Index floats = scratch_.size() + tied_.size();
  for (const Array& gradient : gradients_) floats += gradient.size();
  for (const Slot& slot : slots_) {
    floats += slot.input.size();
    for (const std::vector<Array>* arrays : {&slot.saved, &slot.output})
      for (const Array& array : *arrays) floats += array.size();
  }
  return floats;
}

}  // namespace weir::trainer
