// SPDX-License-Identifier: Apache-2.0

#include "src/mpi/error.h"

#include <cstdio>
#include <utility>

namespace weir::mpi {
namespace {

struct LastError {
  int code = 0;
  std::string sentence;
};

LastError& last_error() {
  thread_local LastError last;
  return last;
}

const char* meaning(int code) {
  if (code == MPIABI_SUCCESS) return "no error";
  if (code == MPIABI_ERR_ARG) return "an argument is invalid";
  if (code == MPIABI_ERR_BUFFER) return "a buffer is invalid";
  if (code == MPIABI_ERR_COMM) return "a communicator is invalid";
  if (code == MPIABI_ERR_COUNT) return "a count is invalid";
  if (code == MPIABI_ERR_OP) return "an operator is invalid";
  if (code == MPIABI_ERR_RANK) return "a rank is invalid";
  if (code == MPIABI_ERR_REQUEST) return "a request is invalid";
  if (code == MPIABI_ERR_TAG) return "a tag is invalid";
  if (code == MPIABI_ERR_TYPE) return "a data type is invalid";
  if (code == MPIABI_ERR_UNSUPPORTED_OPERATION) return "libweir_mpi.so does not offer the function";
  return "an error of libweir_mpi.so";
}

}  // namespace

int fail(int code, std::string sentence) {
  last_error() = {code, std::move(sentence)};
  return code;
}

int fail_aloud(int code, std::string sentence) {
  fail(code, std::move(sentence));
  std::fprintf(stderr, "weir: %s\n", last_error().sentence.c_str());
  return code;
}

int checked(ncclResult_t result) {
  if (result == ncclSuccess) return MPIABI_SUCCESS;
  std::string sentence = ncclGetLastError(nullptr);
  if (sentence.empty()) sentence = ncclGetErrorString(result);
  return fail(result == ncclInvalidArgument ? MPIABI_ERR_ARG : MPIABI_ERR_OTHER, sentence);
}

int refuse(const char* function, std::atomic<bool>& said) {
  const std::string sentence =
      std::string(function) +
      " is not offered by libweir_mpi.so, which has the calls of JAX: communicators by MPI_Comm_split, "
      "MPI_Allreduce, MPI_Allgather, MPI_Reduce_scatter, MPI_Barrier, MPI_Isend, MPI_Irecv, MPI_Sendrecv and "
      "MPI_Wait; use another MPI library for other programs";
  if (!said.exchange(true)) return fail_aloud(MPIABI_ERR_UNSUPPORTED_OPERATION, sentence);
  return fail(MPIABI_ERR_UNSUPPORTED_OPERATION, sentence);
}

std::string sentence_of(int code) {
  const LastError& last = last_error();
  return last.code == code && !last.sentence.empty() ? last.sentence : meaning(code);
}

}  // namespace weir::mpi
