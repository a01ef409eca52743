// SPDX-License-Identifier: Apache-2.0
/// Placement: rank of this process, number of processes, and the address at which they meet, as set by the
/// launcher.
///
/// Supports the launchers of weir/launched.h. Processes of one host meet at a socket name derived from
/// variables that the launcher sets for all of them; processes of several hosts meet at
/// MASTER_ADDR:MASTER_PORT, or at the port after that of NCCL_COMM_ID.
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
  std::string host;  ///< meeting address if there are several hosts: name or address
  std::string port;
  std::string name;  ///< socket name if there is one host
};

/// `parent`: id of the parent process, which identifies the job if the launcher sets nothing else.
Outcome find_placement(const Lookup& lookup, int parent, Placement* placement);

}  // namespace weir::perf
