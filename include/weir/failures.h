// SPDX-License-Identifier: Apache-2.0
/// Failed ranks: how a program finds out, after a communicator has failed, which ranks to continue without;
/// and a limit on the time that running ranks may keep others waiting. C and C++; needs no other header.
///
///     int states[RANKS], gone[RANKS], count = 0;
///     weirCommRankStates(comm, states);
///     for (int rank = 0; rank < RANKS; ++rank)
///       if (states[rank] != weirRankPresent) gone[count++] = rank;
///     if (count > 0) ncclCommShrink(comm, gone, count, &smaller, NULL, NCCL_SHRINK_ABORT);
///
/// Each remaining rank decides for itself. ncclCommShrink fails on all of them, with an error message, if
/// their lists differ or one of them has failed meanwhile; then query and shrink again. After a network
/// partition, silent ranks may continue on their side. A program that must not continue on both sides should
/// require that more ranks are present than silent.
///
/// A program that must also run with NCCL's library should declare the functions weak or look them up with
/// dlsym.
/// Tests: tests/api/stuck_test.cc, tests/api/shrink_test.cc
#ifndef WEIR_FAILURES_H_
#define WEIR_FAILURES_H_

#ifdef __cplusplus
extern "C" {
#endif

struct ncclComm;

enum {
  weirRankPresent = 0, /* the rank's process answers and still has the communicator */
  weirRankLeft = 1,    /* the rank's process answers but has destroyed or aborted the communicator */
  weirRankSilent = 2,  /* the rank's process does not answer: it is stopped or unreachable */
  weirRankDead = 3     /* the rank's process has ended */
};

/* Queries the processes of all ranks and writes one of the numbers above for each rank; `states` is an array
   with one element per rank of the communicator. Fast if all processes answer or are dead; otherwise takes up
   to WEIR_PEER_TIMEOUT. Also works after an error of the communicator. Not collective. Returns an
   ncclResult_t: 0; 4 (ncclInvalidArgument) if `comm` is not a communicator, is used by another thread, or
   `states` is NULL; the error of the communicator's set-up if that failed. ncclGetLastError describes the
   error in a sentence. One thread at a time per communicator. */
int weirCommRankStates(struct ncclComm* comm, int* states);

/* Sets a limit on waits: from now on a call of this communicator fails after so many milliseconds without
   progress, if a running rank has not made its call or ranks wait for each other; 0: no limit. Overrides
   WEIR_STUCK_TIMEOUT for this communicator; communicators made from it by a split or shrink start with
   WEIR_STUCK_TIMEOUT again. Dead, stopped and unreachable ranks are detected as before. Each rank sets its
   own limit; all should use the same value, except a rank that should fail first. The first rank that fails
   informs the others, and the communicator fails on all of them. Not collective. Returns an ncclResult_t: 0;
   4 (ncclInvalidArgument) if `comm` is not a communicator, is used by another thread, or `milliseconds` is
   negative; the error of the communicator's set-up if that failed. ncclGetLastError describes the error in a
   sentence. One thread at a time per communicator. */
int weirCommSetStuckTimeout(struct ncclComm* comm, long long milliseconds);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_FAILURES_H_ */
