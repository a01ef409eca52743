// SPDX-License-Identifier: Apache-2.0
/// Records the timeline of a rank in one step. Used by one thread.
#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "trainer/run/span.h"

namespace weir::trainer {

class Recorder {
 public:
  Recorder()
      : offset_ns_(std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count() -
                   steady_ns()) {}

  static int64_t steady_ns() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  /// Drops the spans of the previous step.
  void begin(int64_t step) {
    step_ = static_cast<int32_t>(step);
    spans_.clear();
  }
  /// Adds a span from `begin_ns` (steady_ns()) to now; spans shorter than a microsecond are omitted.
  void add(Phase phase, int unit, int64_t begin_ns) {
    add(Row::computing, phase, unit, begin_ns, steady_ns());
  }
  void add(Row row, Phase phase, int unit, int64_t begin_ns, int64_t end_ns) {
    if (end_ns - begin_ns >= 1000)
      spans_.push_back(
          {begin_ns + offset_ns_, end_ns - begin_ns, step_, static_cast<int16_t>(unit), row, phase});
  }
  const std::vector<Span>& spans() const { return spans_; }

 private:
  const int64_t offset_ns_;  ///< offset from the steady clock to the system clock
  int32_t step_ = 0;
  std::vector<Span> spans_;
};

}  // namespace weir::trainer
