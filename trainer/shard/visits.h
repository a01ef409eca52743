/// The order in which a pass uses units: forward from the first to the last, backward in reverse. Pure.
#pragma once

#include <cstdint>

namespace weir::shard {

struct Visit {
  int unit = 0;
  bool backward = false;
  int micro_batch = 0;
};

class Visits {
 public:
  Visits() = default;
  /// `micro_batches` times forward, and backward if asked for.
  Visits(int units, int micro_batches, bool with_backward)
      : units_(units), per_micro_(with_backward ? 2 * units : units), count_(micro_batches * per_micro_) {}

  int count() const { return count_; }
  /// REQUIRES: 0 <= position < count().
  Visit at(int position) const {
    const int place = position % per_micro_;
    const bool backward = place >= units_;
    return Visit{backward ? 2 * units_ - 1 - place : place, backward, position / per_micro_};
  }
  /// Whether the visit after `position` is to the same unit: at the turn between forward and backward.
  bool stays(int position) const {
    return position + 1 < count_ && at(position + 1).unit == at(position).unit;
  }
  /// Whether no visit after `position` is to its unit.
  bool is_last(int position) const {
    const int left = count_ - 1 - position;
    return left < per_micro_ && (per_micro_ == units_ || at(position).backward);
  }

 private:
  int units_ = 0;
  int per_micro_ = 1;
  int count_ = 0;
};

}  // namespace weir::shard
