// SPDX-License-Identifier: Apache-2.0
/// The order in which units are used: forward from the first to the last, backward in reverse. Pure.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace weir::shard {

struct Visit {
  int unit = 0;
  bool backward = false;
  int micro_batch = 0;
};

/// The use of one unit for one micro-batch.
struct Pass {
  int micro_batch = 0;
  bool backward = false;
};

class Visits {
 public:
  Visits() = default;
  /// REQUIRES: units > 0.
  Visits(int units, std::vector<Pass> passes) : units_(units), passes_(std::move(passes)) {}
  /// `micro_batches` forward passes, each followed by a backward pass if requested.
  Visits(int units, int micro_batches, bool with_backward) : units_(units) {
    for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
      passes_.push_back({micro_batch, false});
      if (with_backward) passes_.push_back({micro_batch, true});
    }
  }

  int count() const { return units_ * static_cast<int>(passes_.size()); }
  /// REQUIRES: 0 <= position < count().
  Visit at(int position) const {
    const Pass& pass = passes_[static_cast<size_t>(position / units_)];
    const int place = position % units_;
    return Visit{pass.backward ? units_ - 1 - place : place, pass.backward, pass.micro_batch};
  }
  /// Whether the visit after `position` is to the same unit, as between forward and backward.
  bool stays(int position) const {
    return position + 1 < count() && at(position + 1).unit == at(position).unit;
  }
  /// Whether this is the last visit to its unit.
  bool is_last(int position) const { return position + units_ >= count(); }

 private:
  int units_ = 1;
  std::vector<Pass> passes_;
};

}  // namespace weir::shard
