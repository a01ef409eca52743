// SPDX-License-Identifier: Apache-2.0
/// Placement: which process of how many this one is, and where they meet, as its launcher says.
///
/// Launchers are those of weir/launched.h. Processes of one host meet at a name that they derive from
/// what their launcher gave all of them; those of several hosts at MASTER_ADDR:MASTER_PORT, or at the port
/// after that of NCCL_COMM_ID.
#pragma once

#include <string>

#include "bench/perf/outcome.h"
#include "weir/launched.h"

namespace weir::perf {

struct Placement {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  bool one_host = true;
  std::string host;  ///< where to meet, if several hosts: name or address ...
  std::string port;
  std::string name;  ///< ... and if one
};

/// `parent`: id of the parent process, which names the job where the launcher says nothing else.
Outcome find_placement(const Lookup& lookup, int parent, Placement* placement);

}  // namespace weir::perf
