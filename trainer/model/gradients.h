// SPDX-License-Identifier: Apache-2.0
/// Where a unit's backward pass leaves the gradients of its parameters: two ways to add up those of its
/// pieces.
#pragma once

#include "trainer/math/lanes.h"

namespace weir::trainer {

class Gradients {
 public:
  virtual ~Gradients() = default;
  /// The array to which the next piece's gradients are added, of the size of the unit's parameters.
  virtual float* open() = 0;
  /// That piece is done; it began with sequence `first` of the global batch.
  virtual void close(Index first) = 0;
};

/// All pieces are added to one array of the caller's as they come.
class PlainGradients final : public Gradients {
 public:
  explicit PlainGradients(float* sum) : sum_(sum) {}
  float* open() override { return sum_; }
  void close(Index /*first*/) override {}

 private:
  float* sum_;
};

}  // namespace weir::trainer
