// SPDX-License-Identifier: Apache-2.0
/// Team: all threads of all processes of a run, to wait for each other and to compare numbers.
#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "bench/perf/control.h"
#include "bench/perf/options.h"
#include "bench/perf/outcome.h"

namespace weir::perf {

/// Shared by the threads of a process; each calls with its own index.
class Team {
 public:
  /// `control` outlives the team, which alone uses it from now on.
  Team(Control& control, int threads);

  /// Every thread of every process gives as many numbers; all get those of all, by process, then by thread.
  /// Fails when a process has gone, or after fail().
  Outcome exchange(int thread, std::span<const double> mine, std::vector<double>* all);

  /// Returns when every thread of every process has come; on one host at the same moment.
  Outcome barrier(int thread);

  /// exchange() of one number, and what the option makes of all of them.
  Outcome reduce(int thread, double mine, Average how, double* result);
  Outcome sum(int thread, double mine, double* result);

  /// This process cannot go on: wakes up its threads, whose calls fail from now on.
  void fail();

 private:
  Outcome meet(int thread, std::span<const double> mine, std::vector<double>* all, Clock::time_point* begin);
  Outcome stopped() const;

  Control& control_;
  const size_t threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Of the meeting in progress; written by those who come, read by those who leave.
  size_t arrived_ = 0;
  size_t meetings_ = 0;
  std::string numbers_;
  std::string result_;
  Clock::time_point begin_;
  bool failed_ = false;
};

/// What the option makes of the numbers of all ranks. REQUIRES: not empty.
double reduced(std::span<const double> all, Average how);

}  // namespace weir::perf
