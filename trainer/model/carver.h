// SPDX-License-Identifier: Apache-2.0
/// Cuts one array into parts, or only counts what they would take.
#pragma once

#include "trainer/math/lanes.h"

namespace weir::trainer {

class Carver {
 public:
  /// `base` may be null: then only used() means anything.
  explicit Carver(float* base) : base_(base) {}

  /// The next `count` floats; each part begins on a cache line if the array does.
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
