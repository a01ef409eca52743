// SPDX-License-Identifier: Apache-2.0
/// A model as a list of units.
#pragma once

#include <memory>
#include <vector>

#include "trainer/model/config.h"
#include "trainer/model/head_unit.h"
#include "trainer/model/unit.h"

namespace weir::trainer {

/// Immutable; holds no parameters.
class Model {
 public:
  /// Of blocks, the slice: heads, and as many parts of their widths. Embedding and head are whole.
  /// REQUIRES: heads that make equal slices.
  Model(Config config, Recompute recompute, Slice slice = {});

  const Config& config() const { return config_; }
  Slice slice() const { return slice_; }
  /// Embedding, blocks in order, head. Between two units lie config().width floats per token.
  const std::vector<std::unique_ptr<Unit>>& units() const { return units_; }
  const HeadUnit& head() const { return *head_; }

  /// Floats of all whole units' parameters.
  Index parameter_floats() const;
  /// Multiply-adds per token of each unit going forward, as stages are balanced by.
  std::vector<double> unit_costs() const;
  /// Scratch and saved floats that serve every unit with such a batch.
  Index scratch_floats(const Batch& batch) const;
  Index largest_saved_floats(const Batch& batch) const;

 private:
  Config config_;
  Slice slice_;
  std::vector<std::unique_ptr<Unit>> units_;
  const HeadUnit* head_;
};

}  // namespace weir::trainer
