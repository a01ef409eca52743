// SPDX-License-Identifier: Apache-2.0
/// The last unit: the model's norm, logits of the next token, and their loss.
#pragma once

#include "trainer/model/config.h"
#include "trainer/model/unit.h"

namespace weir::trainer {

class HeadUnit final : public Unit {
 public:
  HeadUnit(const Config& config, Recompute recompute, uint32_t stream, Slice slice = {});

  /// The logits of every position, [rows, vocabulary], as forward computes them; for sampling text.
  void logits(const Compute& compute, const Batch& batch, const float* parameters, const float* input,
              float* logits) const;

 private:
  struct State;

  Sizes sizes(const Batch& piece) const override;
  void forward_piece(const Compute& compute, const Batch& piece, const float* parameters, const float* input,
                     float* output, float* saved) const override;
  void backward_piece(const Compute& compute, const Batch& piece, const float* parameters, const float* input,
                      float* saved, float* gradient, float* parameter_gradients) const override;
  void compute_logits(const Compute& compute, const Batch& piece, const float* parameters, const float* input,
                      const State& state) const;

  Index vocabulary_;
  Form form_;
  float epsilon_;  ///< of RMS norms
  Index gain_;
  Index bias_;  ///< of layer norms
  Index weights_;
};

}  // namespace weir::trainer
