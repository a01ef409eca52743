// SPDX-License-Identifier: Apache-2.0
/// One block of GPT-2: x + attention(norm(x)), then + MLP(norm of that).
#pragma once

#include "trainer/model/attention.h"
#include "trainer/model/carver.h"
#include "trainer/model/config.h"
#include "trainer/model/unit.h"

namespace weir::trainer {

class BlockUnit final : public Unit {
 public:
  /// REQUIRES: the number of heads is a multiple of the number of slices.
  BlockUnit(const Config& config, Index layer, Recompute recompute, uint32_t stream, Slice slice = {});

 private:
  // Offsets of the tensors in the unit's array.
  struct Offsets {
    Index norm1_gain, norm1_bias, attention_weights, attention_bias, mix_weights, mix_bias;
    Index norm2_gain, norm2_bias, widen_weights, widen_bias, narrow_weights, narrow_bias;
  };
  struct State;

  static Offsets offsets_of(const ParameterTable& table);

  Sizes sizes(const Batch& piece) const override;
  void forward_piece(const Compute& compute, const Batch& piece, const float* parameters, const float* input,
                     float* output, float* saved) const override;
  void backward_piece(const Compute& compute, const Batch& piece, const float* parameters, const float* input,
                      float* saved, float* gradient, float* parameter_gradients) const override;

  AttentionShape attention_shape(const Batch& piece) const;
  Layer attention_layer() const { return {width(), 3 * inner_, true}; }
  Layer mix_layer() const { return {inner_, width()}; }
  Layer widen_layer() const { return {width(), 4 * inner_, true}; }
  Layer narrow_layer() const { return {4 * inner_, width()}; }

  // The parts of forward; each writes the fields of the state that it is named after.
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
  void heads_backward(const Compute& compute, const Batch& piece, const State& state, Carver scratch,
                      const float* mixed_gradient, float* rows_gradient) const;

  Index heads_;  ///< heads of the slice
  Index inner_;  ///< width of the slice's heads together
  Offsets at_;
};

}  // namespace weir::trainer
