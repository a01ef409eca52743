// SPDX-License-Identifier: Apache-2.0
/// The offered part of the ABI of MPItrampoline, version 2.10: types, constants and functions of MPI under
/// names that begin with MPIABI_. names.txt lists all names of the ABI. A call whose arguments or
/// circumstances are not supported returns an error, and MPIABI_Error_string describes it in a sentence.
///
/// Any thread may call any function at any time, whatever MPIABI_Init_thread was asked for. Calls of one
/// communicator are executed one after the other. Buffers are host memory of the caller, who must not touch
/// them until the call, or the wait for its request, has returned. Every wait ends with an error if a rank is
/// dead, stopped, unreachable or makes another call (docs/c-interface.md#dead-stopped-and-missing-ranks).
/// Tests: tests/mpi/refused_test.cc, tests/mpi/calls_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {

using MPIABI_Comm = std::uintptr_t;
using MPIABI_Datatype = std::uintptr_t;
using MPIABI_Op = std::uintptr_t;
using MPIABI_Request = std::uintptr_t;

/// The first fields are those of an MPI library; this one does not use them.
struct MPIABI_Status {
  std::size_t unused[3];
  int source;
  int tag;
  int error;
};

extern const int mpiabi_version_major, mpiabi_version_minor, mpiabi_version_patch;
extern const int mpiwrapper_version_major, mpiwrapper_version_minor, mpiwrapper_version_patch;
/// MPItrampoline calls it before it reads the constants. Does nothing: there are none of Fortran.
void mpiwrapper_export_fortran_constants_();

extern const int MPIABI_SUCCESS, MPIABI_ERR_ARG, MPIABI_ERR_BUFFER, MPIABI_ERR_COMM, MPIABI_ERR_COUNT,
    MPIABI_ERR_OP, MPIABI_ERR_OTHER, MPIABI_ERR_RANK, MPIABI_ERR_REQUEST, MPIABI_ERR_TAG, MPIABI_ERR_TYPE,
    MPIABI_ERR_UNSUPPORTED_OPERATION;
extern const int MPIABI_ANY_SOURCE, MPIABI_ANY_TAG, MPIABI_UNDEFINED, MPIABI_THREAD_MULTIPLE;
extern const MPIABI_Comm MPIABI_COMM_NULL, MPIABI_COMM_WORLD;
extern const MPIABI_Datatype MPIABI_BYTE, MPIABI_CHAR, MPIABI_SIGNED_CHAR, MPIABI_UNSIGNED_CHAR, MPIABI_SHORT,
    MPIABI_UNSIGNED_SHORT, MPIABI_INT, MPIABI_UNSIGNED, MPIABI_LONG, MPIABI_UNSIGNED_LONG, MPIABI_LONG_LONG,
    MPIABI_LONG_LONG_INT, MPIABI_UNSIGNED_LONG_LONG, MPIABI_INT8_T, MPIABI_INT16_T, MPIABI_INT32_T,
    MPIABI_INT64_T, MPIABI_UINT8_T, MPIABI_UINT16_T, MPIABI_UINT32_T, MPIABI_UINT64_T, MPIABI_FLOAT,
    MPIABI_DOUBLE, MPIABI_C_BOOL, MPIABI_C_COMPLEX, MPIABI_C_FLOAT_COMPLEX, MPIABI_C_DOUBLE_COMPLEX;
extern const MPIABI_Op MPIABI_SUM, MPIABI_PROD, MPIABI_MIN, MPIABI_MAX;
extern const MPIABI_Request MPIABI_REQUEST_NULL;
extern void* const MPIABI_IN_PLACE;

// environment.cc
/// Joins the job. With an error, all calls that need its ranks return the same error.
int MPIABI_Init(int* argc, char*** argv);
/// The same; the level is always THREAD_MULTIPLE.
int MPIABI_Init_thread(int* argc, char*** argv, int required, int* provided);
int MPIABI_Initialized(int* flag);
/// Leaves the job, and ends all communicators. Does not wait for other ranks.
int MPIABI_Finalize();
int MPIABI_Finalized(int* flag);
int MPIABI_Query_thread(int* provided);
/// Whether this thread called MPIABI_Init_thread; true in all threads if weir_jax has started the process,
/// which ensures that it has one device. jaxlib asks before it splits a communicator: with several devices,
/// each of its threads would split for its own, and weir could not tell them apart.
int MPIABI_Is_thread_main(int* flag);
/// Notes that the process runs program number `program` from now on; 0: an unknown one. weir_jax calls it,
/// not MPItrampoline: with this number, MPIABI_Comm_split notices processes that run different programs.
int MPIABI_Pcontrol(int program);
/// Prints a sentence and ends this process with the code. The other ranks notice that it has ended.
int MPIABI_Abort(MPIABI_Comm comm, int code);
int MPIABI_Get_version(int* version, int* subversion);
int MPIABI_Get_library_version(char* text, int* length);
/// The sentence about the last call of this thread that returned `code`, or else what the code means.
int MPIABI_Error_string(int code, char* text, int* length);
int MPIABI_Error_class(int code, int* error_class);
double MPIABI_Wtime();
double MPIABI_Wtick();

// communicators.cc
int MPIABI_Comm_rank(MPIABI_Comm comm, int* rank);
int MPIABI_Comm_size(MPIABI_Comm comm, int* size);
/// All ranks of `comm` must call it; see docs/jax.md about programs on some processes only. Where jaxlib
/// calls it, the keys of a color must be 0, 1, and so on, once each, and its processes must run the same
/// program. With an error, *split is a communicator
/// whose calls return that error, as jaxlib does not look at the result.
int MPIABI_Comm_split(MPIABI_Comm comm, int color, int key, MPIABI_Comm* split);
int MPIABI_Comm_free(MPIABI_Comm* comm);

// collectives.cc
int MPIABI_Barrier(MPIABI_Comm comm);
int MPIABI_Allreduce(const void* send, void* receive, int count, MPIABI_Datatype type, MPIABI_Op op,
                     MPIABI_Comm comm);
int MPIABI_Allgather(const void* send, int send_count, MPIABI_Datatype send_type, void* receive,
                     int receive_count, MPIABI_Datatype receive_type, MPIABI_Comm comm);
/// The counts must be equal.
int MPIABI_Reduce_scatter(const void* send, void* receive, const int counts[], MPIABI_Datatype type,
                          MPIABI_Op op, MPIABI_Comm comm);
int MPIABI_Reduce_scatter_block(const void* send, void* receive, int count, MPIABI_Datatype type,
                                MPIABI_Op op, MPIABI_Comm comm);

// messages.cc
/// Between two ranks, messages are received in the order in which they were sent, with the size with which
/// they were sent. Tags are 0, sources are named. A wait for one request completes all of the communicator.
int MPIABI_Isend(const void* buffer, int count, MPIABI_Datatype type, int to, int tag, MPIABI_Comm comm,
                 MPIABI_Request* request);
int MPIABI_Irecv(void* buffer, int count, MPIABI_Datatype type, int from, int tag, MPIABI_Comm comm,
                 MPIABI_Request* request);
int MPIABI_Sendrecv(const void* send, int send_count, MPIABI_Datatype send_type, int to, int send_tag,
                    void* receive, int receive_count, MPIABI_Datatype receive_type, int from, int receive_tag,
                    MPIABI_Comm comm, MPIABI_Status* status);
int MPIABI_Wait(MPIABI_Request* request, MPIABI_Status* status);
int MPIABI_Waitall(int count, MPIABI_Request requests[], MPIABI_Status statuses[]);

}  // extern "C"
#pragma GCC visibility pop
