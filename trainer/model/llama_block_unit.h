// SPDX-License-Identifier: Apache-2.0
/// One block of Llama: x + attention(norm(x)), then + MLP(norm of that), with RMS norms, rotary position
/// embedding, grouped-query attention and SwiGLU (config.h names the papers).
/// Tests: tests/trainer/model_test.cc, tests/trainer/slices_test.cc
#pragma once

#include "trainer/model/attention.h"
#include "trainer/model/carver.h"
#include "trainer/model/config.h"
#include "trainer/model/unit.h"

namespace weir::trainer {

class LlamaBlockUnit final : public Unit {
 public:
  /// REQUIRES: heads, heads of keys and values and the hidden width are multiples of the number of slices;
  /// a head has an even number of floats.
  LlamaBlockUnit(const Config& config, Index layer, Recompute recompute, uint32_t stream, Slice slice = {});

 private:
  // Offsets of the tensors in the unit's array.
  struct Offsets {
    Index norm1, query, key, value, mix, norm2, gate, up, down;
  };
  struct State;

  static Offsets offsets_of(const ParameterTable& table);

  Sizes sizes(const Batch& piece) const override;
  void forward_piece(const Compute& compute, const Batch& piece, const float* parameters, const float* input,
                     float* output, float* saved) const override;
  void backward_piece(const Compute& compute, const Batch& piece, const float* parameters, const float* input,
                      float* saved, float* gradient, float* parameter_gradients) const override;

  AttentionShape attention_shape(const Batch& piece) const;
  Layer query_layer() const { return {width(), heads_ * size_, true}; }
  Layer key_layer() const { return {width(), key_value_heads_ * size_, true}; }
  Layer mix_layer() const { return {heads_ * size_, width()}; }
  Layer widen_layer() const { return {width(), hidden_, true}; }  ///< gate and up
  Layer down_layer() const { return {hidden_, width()}; }

  // The parts of forward; each writes the fields of the state that it is named after.
  void normal(const Compute& compute, Index rows, const float* x, const float* gain, float* normal,
              float* statistics) const;
  void attention_input(const Compute& compute, const Batch& piece, const float* parameters,
                       const float* input, const State& state, Carver scratch) const;
  void attention_output(const Compute& compute, const Batch& piece, const float* parameters,
                        const float* input, const State& state, Carver scratch) const;
  void mlp_input(const Compute& compute, const Batch& piece, const float* parameters,
                 const State& state) const;
  void restore(const Compute& compute, const Batch& piece, const float* parameters, const float* input,
               const State& state, Carver scratch) const;

  // The parts of backward: `gradient` is that of the half's output on entry and of its input on return.
  void mlp_backward(const Compute& compute, const Batch& piece, const float* parameters, const State& state,
                    Carver scratch, float* gradient, float* sums) const;
  void attention_backward(const Compute& compute, const Batch& piece, const float* parameters,
                          const float* input, const State& state, Carver scratch, float* gradient,
                          float* sums) const;

  Index heads_;            ///< heads of the slice
  Index key_value_heads_;  ///< those of keys and values of the slice
  Index size_;             ///< floats per head
  Index hidden_;           ///< hidden width of the slice
  float epsilon_;
  float rotary_base_;
  RotaryScaling rotary_scaling_;
  Offsets at_;
};

}  // namespace weir::trainer
