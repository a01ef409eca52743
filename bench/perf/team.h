// SPDX-License-Identifier: Apache-2.0
/// Team: synchronization and reductions over all threads of all processes of a run.
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
  /// `control` outlives the team, which has exclusive use of it from now on.
  Team(Control& control, int threads);

  /// All-gather: every thread of every process contributes the same number of values; all get those of all,
  /// by process, then by thread. Fails if a process has ended, or after fail().
  Outcome exchange(int thread, std::span<const double> mine, std::vector<double>* all);

  /// Returns when every thread of every process has called it; on one host at the same time.
  Outcome barrier(int thread);

  /// exchange() of one number, and reduction of all numbers as the option specifies.
  Outcome reduce(int thread, double mine, Average how, double* result);
  Outcome sum(int thread, double mine, double* result);

  /// After an error of this process: wakes up its threads, whose calls fail from now on.
  void fail();

 private:
  Outcome meet(int thread, std::span<const double> mine, std::vector<double>* all, Clock::time_point* begin);
  Outcome stopped() const;

  Control& control_;
  const size_t threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // State of the current exchange; written by arriving threads, read by leaving ones.
  size_t arrived_ = 0;
  size_t meetings_ = 0;
  std::string numbers_;
  std::string result_;
  Clock::time_point begin_;
  bool failed_ = false;
};

/// Reduces the numbers of all ranks as the option specifies. REQUIRES: `all` is not empty.
double reduced(std::span<const double> all, Average how);

}  // namespace weir::perf
