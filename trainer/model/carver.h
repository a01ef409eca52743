// SPDX-License-Identifier: Apache-2.0
/// Divides one array into parts, or only counts the floats that they would need.
#pragma once

#include "trainer/math/lanes.h"

namespace weir::trainer {

class Carver {
 public:
  /// `base` may be null: then only used() is meaningful.
  explicit Carver(float* base) : base_(base) {}

  /// Takes the next `count` floats; each part is aligned to a cache line if the array is.
  float* take(Index count) {
    float* part = base_ != nullptr ? base_ + used_ : nullptr;
    used_ += (count + kLanes - 1) / kLanes * kLanes;
    return part;
  }
  Index used() const { return used_; }

 private:
  float* base_;
  Index used_ = 0;
};

}  // namespace weir::trainer
