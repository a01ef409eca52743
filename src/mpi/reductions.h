// SPDX-License-Identifier: Apache-2.0
/// Reductions of MPI's types: those that weir has go to it as they are; 16-bit integers are summed as 32-bit
/// ones, and complex numbers as pairs, or by an all-gather where they are multiplied.
///
/// Any thread may call these functions, one at a time per communicator. They return codes of MPI. Counts are
/// in elements of the type. `send` may be `receive`; otherwise the buffers must not overlap.
/// Tests: tests/mpi/calls_test.cc
#pragma once

#include <cstddef>

#include "nccl.h"
#include "src/mpi/types.h"

namespace weir::mpi {

/// A reduction over all ranks of `comm`. REQUIRES: the type has arithmetic.
struct MpiReduction {
  ncclComm_t comm;
  int rank;
  int size;
  MpiType type;
  ncclRedOp_t op;
};

/// Both buffers have `count` elements.
int all_reduce(const MpiReduction& reduction, const void* send, void* receive, std::size_t count);

/// `send` has size * `count` elements, `receive` has `count`.
int reduce_scatter(const MpiReduction& reduction, const void* send, void* receive, std::size_t count);

}  // namespace weir::mpi
