// SPDX-License-Identifier: Apache-2.0
/// How this process joins its job.
///
/// Thread-safe.
/// Tests: tests/mpi/join_test.cc
#pragma once

#include <memory>

#include "src/mpi/communicator.h"

namespace weir::mpi {

struct WorldResult {
  int code;                                ///< of MPI; an error was printed
  std::shared_ptr<MpiCommunicator> world;  ///< with an error, one whose calls return it
  bool by_weir_jax = false;                ///< whether WEIR_MPI_JOB was set
};

/// Waits for the other ranks, up to WEIR_INIT_TIMEOUT. The rank, the number of ranks and the unique id are
/// those in WEIR_MPI_JOB ("RANK SIZE ID", the id in hexadecimal digits), which python/weir_jax sets. Without
/// it rank and number are those of the launcher (weir/launched.h), one rank if there is none, and the ranks
/// meet at NCCL_COMM_ID.
WorldResult join();

}  // namespace weir::mpi
