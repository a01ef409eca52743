// SPDX-License-Identifier: Apache-2.0
/// AdamW's moments for a rank's shard of a unit. Where Muon has the matrices of the unit, their mean is its
/// momentum, and only the other tensors have a variance.
/// Tests: tests/trainer/muon_test.cc
#pragma once

#include <vector>

#include "trainer/model/parameters.h"
#include "trainer/run/array.h"
#include "trainer/shard/layout.h"

namespace weir::trainer {

struct Moments {
  Array mean;
  Array variance;  ///< if it is split, only that of `vectors`, one after the other
  bool split = false;
  std::vector<ElementRange> vectors;  ///< of the unit

  /// Zeroed. `gpu`: as for Array; none if `split`.
  static Result<Moments> make(const ParameterTable& table, const shard::Range& own, bool split,
                              gpu::GpuOps* gpu);
  /// A split variance with zeros for elements that have none, as long as the shard; else empty.
  std::vector<float> whole_variance(const shard::Range& own);
};

}  // namespace weir::trainer
