// SPDX-License-Identifier: Apache-2.0
/// Control: communication between the processes of a run besides the library under test: the meeting address,
/// the start time, the measured times. Sockets connect process 0 with each other process.
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
  /// Returns when all processes have connected, or fails after a minute with the number of those that did.
  static Outcome join(const Placement& placement, std::unique_ptr<Control>* control);

  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  ~Control();

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// All-gather: every process contributes the same number of bytes; all get those of all processes in the
  /// order of ranks. Fails if a process has ended. With `begin`, also returns a time shortly ahead, equal for
  /// all processes of one host, at which to start together.
  Outcome exchange(const void* mine, size_t bytes, std::string* all, Clock::time_point* begin = nullptr);

 private:
  Control(int rank, int size, bool one_clock) : rank_(rank), size_(size), one_clock_(one_clock) {}
  Outcome listen_and_accept(const Placement& placement);
  Outcome connect_to_first(const Placement& placement);
  Outcome gather(const void* mine, size_t bytes, std::string* all);

  int rank_;
  int size_;
  bool one_clock_;
  std::vector<int> sockets_;  ///< process 0: socket of each rank (-1 for itself); others: one socket
};

}  // namespace weir::perf
