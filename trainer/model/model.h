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
  /// `slice` selects the part of each block: heads, and equal shares of the widths. Embedding and head are
  /// whole. REQUIRES: the numbers of heads, in Llama's form also that of keys and values and the hidden
  /// width, are multiples of the number of slices.
  Model(Config config, Recompute recompute, Slice slice = {});

  const Config& config() const { return config_; }
  Slice slice() const { return slice_; }
  /// Embedding, blocks in order, head. Each unit passes config().width floats per token to the next.
  const std::vector<std::unique_ptr<Unit>>& units() const { return units_; }
  const HeadUnit& head() const { return *head_; }

  /// Floats of the parameters of all units, uncut.
  Index parameter_floats() const;
  /// Forward multiply-adds per token of each unit; stages are balanced by these costs.
  std::vector<double> unit_costs() const;
  /// Scratch floats that suffice for every unit with this batch.
  Index scratch_floats(const Batch& batch) const;
  /// Floats of the arrays of Batch::tied for this batch; 0 if the model is not tied.
  Index tied_floats(const Batch& batch) const;
  /// These arrays, in one of that many floats that is aligned to a cache line and begins with the table, or
  /// none if the model is not tied.
  Tied tied_in(float* array, const Batch& batch) const;
  /// Floats of the embedding's table of tokens, the first ones of its parameters.
  Index table_floats() const { return config_.vocabulary * config_.width; }

 private:
  Config config_;
  Slice slice_;
  std::vector<std::unique_ptr<Unit>> units_;
  const HeadUnit* head_;
};

}  // namespace weir::trainer
