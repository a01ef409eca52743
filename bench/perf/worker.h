// SPDX-License-Identifier: Apache-2.0
/// Worker: one thread's part of a run: the loops over types, operations, roots and sizes, the timed loop and
/// the check.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "bench/perf/collective.h"
#include "bench/perf/limit.h"
#include "bench/perf/net_stats.h"
#include "bench/perf/options.h"
#include "bench/perf/outcome.h"
#include "bench/perf/ranks.h"
#include "bench/perf/report.h"
#include "bench/perf/team.h"
#include "bench/perf/types.h"
#include "bench/perf/watchdog.h"

namespace weir::perf {

/// Parameters of one row.
struct Job {
  TypeInfo type;
  OpInfo op;
  int root;  ///< root rank; -1: the collective has no root
  Layout layout;

  size_t send_bytes() const { return layout.send * type.size; }
  size_t recv_bytes() const { return layout.recv * type.size; }
  /// Value of the size column.
  size_t bytes() const { return std::max(send_bytes(), recv_bytes()); }
};

/// Objects that all workers of a process share.
struct Shared {
  const Collective& collective;
  const PerfOptions& options;
  Team& team;
  Watchdog& watchdog;
  bool first_on_host;  ///< whether this process is the first of its host
  const Limit* limit;  ///< null: --limit was not given
};

class Worker {
 public:
  /// `report` is null for all workers but one.
  Worker(const Shared& shared, int thread, Ranks& ranks, Report* report);

  /// Measures everything that the options specify.
  Outcome run();

 private:
  Outcome run_sizes(TypeInfo type, OpInfo op, int root);
  Outcome warm_up(TypeInfo type, OpInfo op, int root);
  Outcome run_row(const Job& job);
  Outcome sum_net_stats(std::optional<NetStats>* sum);
  Outcome measure(const Job& job, bool in_place, Measurement* measurement);

  Outcome time_iterations(const Job& job, bool in_place, double* seconds, std::vector<double>* iterations);
  Outcome run_plain(const Job& job, bool in_place, int iterations);
  Outcome run_general(const Job& job, bool in_place, int iterations, std::vector<double>* times,
                      double* untimed);
  Outcome time_graph(const Job& job, bool in_place, double* seconds);
  Outcome capture(const Job& job, bool in_place, int iterations);
  Outcome launch_graphs(int times);
  Outcome run_once(const Job& job, bool in_place);
  Outcome start(const Job& job, bool in_place, size_t shift);
  Outcome start_scaled(const Job& job, Call call);
  Outcome complete();
  Call call(const Job& job, const LocalRank& rank, bool in_place) const;
  size_t largest_shift(const Job& job) const;
  Outcome gather_iterations(const std::vector<double>& mine, IterationTimes* times);

  Outcome check(const Job& job, bool in_place, double* wrong);
  Outcome fill(const Job& job, const LocalRank& rank, bool in_place, uint64_t seed);
  Outcome count_wrong(const Job& job, const LocalRank& rank, bool in_place, uint64_t seed, double* wrong);

  const Collective& collective_;
  const PerfOptions& options_;
  Team& team_;
  Watchdog& watchdog_;
  const int thread_;
  Ranks& ranks_;
  Report* report_;
  const Limit* limit_;
  NetMeter net_;
};

/// Sizes of a sweep in bytes. Size 0 is followed by the step, or by `smallest`.
std::vector<size_t> sizes(const PerfOptions& options, int factor, size_t smallest);

}  // namespace weir::perf
