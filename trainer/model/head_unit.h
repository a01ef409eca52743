// SPDX-License-Identifier: Apache-2.0
/// The last unit: the model's norm, logits of the next token, and their loss. Where the output layer is tied
/// to the embedding, the unit has no weights of its own and reads Batch::tied; then nothing of it is
/// recomputed.
#pragma once

#include "trainer/model/config.h"
#include "trainer/model/unit.h"

namespace weir::trainer {

class Carver;

class HeadUnit final : public Unit {
 public:
  HeadUnit(const Config& config, Recompute recompute, uint32_t stream, Slice slice = {});

  /// The logits of every position, [rows, vocabulary], as forward computes them; for sampling text.
  void logits(const Compute& compute, const Batch& batch, const float* parameters, const float* input,
              float* logits) const;

 private:
  struct State;

  Layer layer() const { return {width(), vocabulary_, tied_}; }
  State state_of(const Batch& piece, Carver& saved, Carver& scratch) const;
  Sizes sizes(const Batch& piece) const override;
  void forward_piece(const Compute& compute, const Batch& piece, const float* parameters, const float* input,
                     float* output, float* saved) const override;
  void backward_piece(const Compute& compute, const Batch& piece, const float* parameters, const float* input,
                      float* saved, float* gradient, float* parameter_gradients) const override;
  void compute_logits(const Compute& compute, const Batch& piece, const float* parameters, const float* input,
                      const State& state) const;

  const float* weights_of(const Batch& piece, const float* parameters) const;

  Index vocabulary_;
  Form form_;
  bool tied_;
  float epsilon_;  ///< of RMS norms
  Index gain_;
  Index bias_;     ///< of layer norms
  Index weights_;  ///< unless tied
};

}  // namespace weir::trainer
