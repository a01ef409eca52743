// SPDX-License-Identifier: Apache-2.0
/// Data types and operators of MPI in the terms of weir.
///
/// Pure; all functions are thread-safe.
/// Tests: tests/mpi/calls_test.cc
#pragma once

#include <cstddef>
#include <optional>

#include "nccl.h"
#include "src/mpi/abi.h"

namespace weir::mpi {

/// How elements of a type are reduced.
enum class Arithmetic {
  none,     ///< they are only moved
  native,   ///< as elements of `part`
  widened,  ///< as elements of `part`, which is larger
  complex,  ///< an element is two elements of `part`
};

struct MpiType {
  std::size_t bytes;  ///< of an element
  Arithmetic arithmetic;
  ncclDataType_t part;
};

/// nullopt: the type is not supported.
std::optional<MpiType> find_type(MPIABI_Datatype handle);

/// nullopt: the operator is not supported.
std::optional<ncclRedOp_t> find_operator(MPIABI_Op handle);

}  // namespace weir::mpi
