// SPDX-License-Identifier: Apache-2.0
/// Control: what the processes of a run tell each other besides the library under test: where to meet it,
/// when to begin, how long it took. A star of sockets with process 0 in its middle.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "bench/perf/outcome.h"
#include "bench/perf/placement.h"

namespace weir::perf {

using Clock = std::chrono::steady_clock;

/// Used by one thread at a time.
class Control {
 public:
  /// Returns when all processes have met, or fails after a minute with the number of those that came.
  static Outcome join(const Placement& placement, std::unique_ptr<Control>* control);

  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  ~Control();

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Every process gives as many bytes; all get those of all, in the order of ranks. Fails when a process has
  /// gone. With `begin` also a moment shortly ahead, the same for all processes of one host, at which to
  /// begin together.
  Outcome exchange(const void* mine, size_t bytes, std::string* all, Clock::time_point* begin = nullptr);

 private:
  Control(int rank, int size, bool one_clock) : rank_(rank), size_(size), one_clock_(one_clock) {}
  Outcome listen_and_accept(const Placement& placement);
  Outcome connect_to_first(const Placement& placement);
  Outcome gather(const void* mine, size_t bytes, std::string* all);

  int rank_;
  int size_;
  bool one_clock_;
  std::vector<int> sockets_;  ///< of process 0: by rank (its own -1); of others: one
};

}  // namespace weir::perf
