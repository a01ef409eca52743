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
  Model(Config config, Recompute recompute);

  const Config& config() const { return config_; }
  /// Embedding, blocks in order, head. Between two units lie config().width floats per token.
  const std::vector<std::unique_ptr<Unit>>& units() const { return units_; }
  const HeadUnit& head() const { return *head_; }

  /// Floats of all units' parameters.
  Index parameter_floats() const;
  /// Scratch and saved floats that serve every unit with such a batch.
  Index scratch_floats(const Batch& batch) const;
  Index largest_saved_floats(const Batch& batch) const;

 private:
  Config config_;
  std::vector<std::unique_ptr<Unit>> units_;
  const HeadUnit* head_;
};

}  // namespace weir::trainer
