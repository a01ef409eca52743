// SPDX-License-Identifier: Apache-2.0
/// One communicator of many ranks, from creation to destruction: time and resources.
#pragma once

#include <optional>

#include "bench/scale/memory.h"

namespace weir::scale {

struct Setting {
  int ranks = 2;
  int processes = 1;  ///< number of processes; ranks are their threads, in equal parts
  int hosts = 1;      ///< number of hosts to simulate (NCCL_HOSTID), with equal parts of the processes
  int calls = 20;     ///< number of all-reduces of 8 bytes after the first
  int limit_s = 120;  ///< time limit
};

/// Seconds from the begin of the first rank to the end of the last one. Those of processors are the sum over
/// all processes: as long as other jobs run, they say more than the time that passed.
struct Times {
  double init = 0;
  double init_cpu = 0;
  double first = 0;  ///< first all-reduce of 8 bytes
  double first_cpu = 0;
  double later = 0;  ///< each later all-reduce
  double end = 0;    ///< ncclCommDestroy
};

struct Outcome {
  Times times;
  Footprint idle;    ///< resources added by the communicator, sum over all processes
  Footprint used;    ///< the same after the all-reduces
  int64_t peak = 0;  ///< sum over all processes; bytes
};

/// Starts processes and runs the setting in them. Nullopt, after an error message on stderr, if a rank
/// failed, a sum was wrong or the time limit passed. REQUIRES: this process has one thread and has not used
/// the library.
std::optional<Outcome> run(const Setting& setting);

}  // namespace weir::scale
