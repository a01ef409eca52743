// SPDX-License-Identifier: Apache-2.0
/// The timing loop that all candidates share: same sizes, same iterations, same clock, same check.
///
/// Per size: one checked call, then batches of calls. A batch is long enough for the clock and begins at a
/// barrier; its time is that of the slowest rank. Rank 0 prints one line of JSON per size:
///   {"op":"all_reduce","ranks":2,"bytes":8,"median_us":0.05,"avg_us":0.05,"min_us":0.05,"calls":9000,"ok":true}
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/compare/control.h"
#include "bench/compare/library.h"

namespace compare {

struct Options {
  int ranks = 0;              ///< 0: whoever started the process says how many
  int rank = -1;              ///< of this process, if somebody starts all of them; -1: see begin()
  std::string control;        ///< file for Control; empty: the ranks are forked
  std::string interface;      ///< for libraries that must be told; empty: the loopback
  bool pinned = true;         ///< to a core of its own
  std::string mode;           ///< the candidate's own choice, such as an algorithm
  std::vector<Op> ops;        ///< default: all_reduce
  std::vector<size_t> sizes;  ///< bytes as nccl-tests counts them; default: 8 B to 128 MiB in powers of 8
  double budget_ms = 60;      ///< for one size
};

/// Reads --ranks --rank --control --interface --pin --mode --ops --sizes --budget-ms. Exits with a sentence
/// on anything else.
Options parse(int argc, char** argv);

/// Makes this process a rank: the one that --rank and --control say, or rank 0 of --ranks (default 2), whose
/// others are forked here. For libraries that bring no launcher.
Control begin(const Options& options);
/// In a process that has forked others: waits for them. Returns `code` if it is not 0, else the first of
/// theirs that is not.
int end(const Options& options, const Control& control, int code);

/// Floats of one call of `op` whose size nccl-tests gives as `bytes`; 0: there is nothing to do.
size_t count_of(Op op, size_t bytes, int ranks);

/// Times everything asked for. Returns the exit code: 1 if a result was wrong.
int run_loop(Library& library, Control& control, const Options& options);

}  // namespace compare
