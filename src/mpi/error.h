// SPDX-License-Identifier: Apache-2.0
/// Errors of calls: a code of MPI, and a sentence for MPIABI_Error_string.
///
/// Any thread may call these functions; each thread has a sentence of its own.
/// Tests: tests/mpi/calls_test.cc
#pragma once

#include <atomic>
#include <new>
#include <string>

#include "nccl.h"
#include "src/mpi/abi.h"

namespace weir::mpi {

/// Keeps the sentence as that of this thread's last error, and returns the code.
int fail(int code, std::string sentence);

/// The same, and prints the sentence: for calls whose result jaxlib does not look at.
int fail_aloud(int code, std::string sentence);

/// MPIABI_SUCCESS, or an error with weir's sentence.
int checked(ncclResult_t result);

/// An error that says that the library does not offer `function`. The first one of each function is printed.
int refuse(const char* function, std::atomic<bool>& said);

/// Calls body(), which returns a code. No exception may leave a function of C; those of this library are
/// about memory.
template <typename Body>
int guarded(const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(MPIABI_ERR_OTHER, "the process has no memory left for this call");
  }
}

/// The sentence of this thread's last error if that had this code, or else what the code means.
std::string sentence_of(int code);

}  // namespace weir::mpi
