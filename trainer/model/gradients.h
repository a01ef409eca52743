// SPDX-License-Identifier: Apache-2.0
/// Where a unit's backward pass leaves the gradients of its parameters: two ways to add up the gradients of
/// the batch's pieces.
#pragma once

#include "trainer/math/lanes.h"

namespace weir::trainer {

class Gradients {
 public:
  virtual ~Gradients() = default;
  /// The array to which the next piece's gradients are added; as long as the unit's parameters.
  virtual float* open() = 0;
  /// Marks the end of that piece, which began with sequence `first` of the global batch.
  virtual void close(Index first) = 0;
};

/// Adds all pieces to one array of the caller, in the order in which they are computed.
class PlainGradients final : public Gradients {
 public:
  explicit PlainGradients(float* sum) : sum_(sum) {}
  float* open() override { return sum_; }
  void close(Index /*first*/) override {}

 private:
  float* sum_;
};

}  // namespace weir::trainer
