// SPDX-License-Identifier: Apache-2.0
/// The first unit: a row of a table for each token, in GPT-2's form plus one for its position. Where the
/// output layer is tied to the table, its part of the gradient is added here, from Batch::tied.
#pragma once

#include <optional>

#include "trainer/model/config.h"
#include "trainer/model/unit.h"

namespace weir::trainer {

class EmbeddingUnit final : public Unit {
 public:
  EmbeddingUnit(const Config& config, uint32_t stream, Slice slice = {});

 private:
  Sizes sizes(const Batch& piece) const override;
  void forward_piece(const Compute& compute, const Batch& piece, const float* parameters, const float* input,
                     float* output, float* saved) const override;
  void backward_piece(const Compute& compute, const Batch& piece, const float* parameters, const float* input,
                      float* saved, float* gradient, float* parameter_gradients) const override;

  Index vocabulary_;
  bool tied_;
  Index tokens_;
  std::optional<Index> positions_;  ///< none in Llama's form, which turns queries and keys instead
};

}  // namespace weir::trainer
