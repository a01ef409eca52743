// SPDX-License-Identifier: Apache-2.0
/// Lets calls take as long as on the cluster that the job pretends to run on.
///
/// A call ends no sooner than its simulated time after the last of the ranks began it that had begun when
/// this rank's work was done: those whose data it needed. Collectives of a group take their times one after
/// the other; then come its sends and receives, of which those that leave or those that reach the rank take
/// their times one after the other, whichever is longer. Where the machine needs longer than the cluster
/// would, one warning says so.
///
/// Used by the thread that carries calls out.
/// Tests: tests/core/pretended_pace_test.cc
#pragma once

#include <functional>
#include <vector>

#include "src/base/clock.h"
#include "src/core/call/call_pace.h"
#include "src/core/call/operation_summary.h"
#include "src/core/pretended/begin_times.h"
#include "src/core/pretended/pretended_times.h"

namespace weir::core {

class PretendedPace final : public CallPace {
 public:
  /// The time, and how to wait for one; those of a test may differ.
  struct Clock {
    std::function<int64_t()> now = &now_ns;
    /// Returns at `ns`, or soon after the flag is set.
    std::function<void(int64_t ns, const std::atomic<bool>& aborted)> wait;
    static Clock real();
  };
  struct Dependencies {
    Rank rank = 0;
    double scale = 1;                         ///< by which times are multiplied
    PretendedTimes* times = nullptr;          ///< outlives this
    const ir::LoadedPlans* loaded = nullptr;  ///< the user's plans, which outlive this; null: none
    std::vector<BeginTimes*> begins = {};     ///< by rank; outlive this; empty: not shared
    Clock clock = Clock::real();
  };
  explicit PretendedPace(Dependencies dependencies) : with_(std::move(dependencies)) {}

  void begin(std::span<const Operation> operations) override;
  void end(const std::atomic<bool>& aborted) override;

  /// Seconds of operations that belong together, without the scale. Errors: those of PretendedTimes.
  Result<double> seconds(std::span<const Operation> operations) const;

 private:
  int64_t last_begin(int64_t done) const;
  void warn_if_slow(int64_t took, int64_t wanted);

  const Dependencies with_;
  uint64_t collectives_ = 0;  ///< number of those that were begun
  uint64_t number_ = 0;       ///< number of the call's first collective; 0: it has none
  OperationSummary first_;    ///< the call's first operation
  int64_t begun_ = 0;
  int64_t wanted_ = 0;   ///< ns that the call is to take
  bool warned_ = false;  ///< it was said that the machine is too slow
  bool failed_ = false;  ///< it was said that a time could not be simulated
};

}  // namespace weir::core
