// SPDX-License-Identifier: Apache-2.0
/// Split: NCCL_TESTS_SPLIT and NCCL_TESTS_SPLIT_MASK, which divide the processes of a run into groups that
/// measure at the same time with separate communicators.
#pragma once

#include <functional>
#include <vector>

#include "bench/perf/control.h"
#include "bench/perf/outcome.h"
#include "bench/perf/placement.h"

namespace weir::perf {

/// The group of each process, as a function of its number; 0 for all if the variables are not set.
Outcome find_split(const Lookup& lookup, std::function<int(int)>* group_of);

/// The position of a process in its group.
struct GroupPlace {
  int group;  ///< number of the group
  int first;  ///< number of the group's first process
  int index;  ///< index of this process in the group
  int size;   ///< number of processes in the group
};

GroupPlace place_in_group(const std::function<int(int)>& group_of, int process, int processes);

}  // namespace weir::perf
