/// Placement: which process of how many this one is, and where they meet, as its launcher says.
///
/// Understood are the variables of `weir run` and torchrun (RANK, WORLD_SIZE, ...), of OpenMPI, of MPICH and
/// its relatives (PMI_RANK, ...) and of srun. Processes of one host meet at a name that they derive from what
/// their launcher gave all of them; those of several hosts at MASTER_ADDR:MASTER_PORT, or at the port after
/// that of NCCL_COMM_ID.
#pragma once

#include <functional>
#include <string>

#include "bench/perf/outcome.h"

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

/// The value of a variable, or null: getenv, in tests a table.
using Lookup = std::function<const char*(const char*)>;

/// `parent`: id of the parent process, which names the job where the launcher says nothing else.
Outcome find_placement(const Lookup& lookup, int parent, Placement* placement);

}  // namespace weir::perf
