// SPDX-License-Identifier: Apache-2.0
/// Which rank comes last to collectives, over the calls that were seen in several surveys.
///
/// In a collective whose ranks end together, a rank that comes later by some time is in its call for less by
/// that time. Durations of one call on all ranks are therefore enough: clocks of hosts are not compared. Only
/// calls that all ranks have timed count (src/core/diagnosis/recorder.h).
/// Tests: tests/survey/stragglers_test.cc
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "src/survey/survey.h"

namespace weir::survey {

/// How often a rank was last.
struct StragglerReport {
  uint64_t calls = 0;  ///< number of calls
  int64_t behind_ns =
      0;  ///< sum over these calls of the time by which it came after the median of the others
};

class Stragglers {
 public:
  static constexpr size_t kMostCalls = 10'000;  ///< number of calls of a communicator that are kept

  /// Adds the calls that earlier surveys have not shown.
  void add(const std::vector<QueriedProcess>& asked);

  /// By rank, of the communicator's last kMostCalls calls; empty if none was seen.
  std::map<Rank, StragglerReport> recent(const std::string& communicator) const;
  /// By rank, of all calls seen; only grows.
  std::map<Rank, StragglerReport> total(const std::string& communicator) const;
  /// A line for each communicator of which calls were seen: the rank that was last most often.
  std::string text() const;

 private:
  struct Call {
    Rank last;
    int64_t behind_ns;
  };
  struct Seen {
    uint64_t newest = 0;  ///< number of the newest call that was added
    std::deque<Call> calls;
    std::map<Rank, StragglerReport> total;
  };

  std::map<std::string, Seen> communicators_;  ///< by id
};

}  // namespace weir::survey
