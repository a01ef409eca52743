// SPDX-License-Identifier: Apache-2.0
/// Split: NCCL_TESTS_SPLIT and NCCL_TESTS_SPLIT_MASK, which divide the processes of a run into groups that
/// measure side by side, each with communicators of its own.
#pragma once

#include <functional>
#include <vector>

#include "bench/perf/control.h"
#include "bench/perf/outcome.h"
#include "bench/perf/placement.h"

namespace weir::perf {

/// The group of each process, as a function of its number; 0 for all without the variables.
Outcome find_split(const Lookup& lookup, std::function<int(int)>* group_of);

/// What a process is in its group.
struct GroupPlace {
  int group;  ///< its number
  int first;  ///< the process that leads it
  int index;  ///< of this process in it
  int size;   ///< processes in it
};

GroupPlace place_in_group(const std::function<int(int)>& group_of, int process, int processes);

}  // namespace weir::perf
