// SPDX-License-Identifier: Apache-2.0
/// One communicator of many ranks, from nothing to its end: how long it takes, and what it costs.
#pragma once

#include <optional>

#include "bench/scale/memory.h"

namespace weir::scale {

struct Setting {
  int ranks = 2;
  int processes = 1;  ///< ranks are threads of so many, in equal parts
  int hosts = 1;      ///< that the processes say they are on (NCCL_HOSTID), in equal parts
  int calls = 20;     ///< all-reduces of 8 bytes after the first
  int limit_s = 120;  ///< then it is given up
};

/// Seconds from when the first rank begins until the last one is done.
struct Times {
  double init = 0;
  double first = 0;  ///< all-reduce of 8 bytes
  double later = 0;  ///< each of those after it
  double end = 0;    ///< ncclCommDestroy
};

struct Outcome {
  Times times;
  Footprint idle;    ///< all processes together: what the communicator added
  Footprint used;    ///< the same, after the all-reduces
  int64_t peak = 0;  ///< bytes, all processes together
};

/// Runs it in processes that it starts. Nothing, after a sentence on stderr, if a rank failed, a sum was
/// wrong or it took too long. REQUIRES: this process has one thread and has not used the library.
std::optional<Outcome> run(const Setting& setting);

}  // namespace weir::scale
