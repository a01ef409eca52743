// SPDX-License-Identifier: Apache-2.0
/// The timing loop that all candidates share: same sizes, iterations, clock and check.
///
/// For each size: one checked call, then batches of calls. A batch starts at a barrier and is long enough for
/// the resolution of the clock; its time is that of the slowest rank. Rank 0 prints one line of JSON per
/// size:
///   {"op":"all_reduce","ranks":2,"bytes":8,"median_us":0.05,"avg_us":0.05,"min_us":0.05,"calls":9000,"ok":true}
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/compare/control.h"
#include "bench/compare/library.h"

namespace compare {

struct LoopOptions {
  int ranks = 0;          ///< number of ranks; 0: given by the launcher
  int rank = -1;          ///< rank of this process, if a launcher starts all processes; -1: see begin()
  std::string control;    ///< path of the file for Control; empty: the ranks are forked
  std::string interface;  ///< network interface, for libraries that need one; empty: the loopback interface
  bool pinned = true;     ///< bind each rank to its own core
  std::string mode;       ///< variant of the candidate, such as an algorithm
  std::vector<Op> ops;    ///< default: all_reduce
  std::vector<size_t> sizes;  ///< bytes as nccl-tests counts them; default: 8 B to 128 MiB in powers of 8
  double budget_ms = 60;      ///< time for one size; ms
  double batch_ms = 0;        ///< time of one batch; ms. 0: short, so that many batches run undisturbed
  int computing = 0;          ///< threads per rank that compute beside the calls
  int hogs = 0;               ///< processes that compute beside the ranks
};

/// Parses --ranks --rank --control --interface --pin --mode --ops --sizes --budget-ms --batch-ms --computing
/// --hogs. Exits with an error message for any other argument.
LoopOptions parse(int argc, char** argv);

/// Makes this process a rank: the one that --rank and --control specify, or rank 0 of --ranks (default 2) and
/// forks the others. For libraries without a launcher.
Control begin(const LoopOptions& options);
/// Waits for the forked processes, if any. Returns `code` if it is not 0, else the first of their exit codes
/// that is not 0.
int end(const LoopOptions& options, const Control& control, int code);

/// Number of floats of one call of `op` for the size `bytes` as nccl-tests counts it; 0: skip this size.
size_t count_of(Op op, size_t bytes, int ranks);

/// Times all requested operations and sizes. Returns the exit code: 1 if a result was wrong.
int run_loop(Library& library, Control& control, const LoopOptions& options);

}  // namespace compare
