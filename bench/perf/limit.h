// SPDX-License-Identifier: Apache-2.0
/// Limit: lower bound of a row's time from the memory bandwidth of the GPUs alone.
///
/// The memory bandwidth of a GPU is measured in the same run: copies inside it, by one of its ranks alone. A
/// copy of n bytes moves 2n bytes, n read and n written.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/perf/collective.h"
#include "bench/perf/outcome.h"
#include "bench/perf/ranks.h"
#include "bench/perf/report.h"
#include "bench/perf/team.h"

namespace weir::perf {

/// For each rank, the bytes that any implementation of the call must read from its input and write to its
/// output: each byte of input that any rank needs once, and each byte of output that is not already there.
std::vector<size_t> bytes_to_move(const Collective& collective, const Layout& layout, size_t type_size,
                                  int ranks, int root, bool in_place);

/// Equal on all threads of all processes. Used by one thread.
class Limit {
 public:
  /// `all`: the ranks of the run in the order of Team::exchange(), of which those of `group` count; `first`:
  /// index of this thread's first rank in it. Every thread calls it. `largest`: bytes of the largest row.
  Outcome measure(Team& team, int thread, Ranks& ranks, const std::vector<RankInfo>& all, int first,
                  int group, size_t largest);

  double seconds(const Collective& collective, const Layout& layout, size_t type_size, int root,
                 bool in_place) const;
  /// One line per GPU, as text.
  std::vector<std::string> lines() const;

 private:
  struct Gpu {
    std::string name;  ///< host and hardware
    double bandwidth;  ///< bytes per second
    int ranks;
  };
  std::vector<Gpu> gpus_;
  std::vector<size_t> gpu_of_;  ///< GPU of each rank of the communicator
};

}  // namespace weir::perf
