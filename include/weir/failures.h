// SPDX-License-Identifier: Apache-2.0
/// Who is gone: what a program asks after a communicator has failed, to go on without those ranks; and how
/// long ranks that run may keep the others waiting. C and C++; needs no other header.
///
///     int states[RANKS], gone[RANKS], count = 0;
///     weirCommRankStates(comm, states);
///     for (int rank = 0; rank < RANKS; ++rank)
///       if (states[rank] != weirRankPresent) gone[count++] = rank;
///     if (count > 0) ncclCommShrink(comm, gone, count, &smaller, NULL, NCCL_SHRINK_ABORT);
///
/// Each survivor sees for itself, and ncclCommShrink fails on all of them, with a sentence, where lists
/// differ or one of them is gone meanwhile: then ask and shrink again. Ranks that are silent may go on
/// themselves where a network has come apart; a program that must not go on twice asks that more ranks are
/// present than silent.
///
/// A program that must also run with NCCL's library declares the function weak, or asks dlsym for it.
#ifndef WEIR_FAILURES_H_
#define WEIR_FAILURES_H_

#ifdef __cplusplus
extern "C" {
#endif

struct ncclComm;

enum {
  weirRankPresent = 0, /* its process answers, and has the communicator */
  weirRankLeft = 1,    /* its process answers, and has destroyed or aborted the communicator */
  weirRankSilent = 2,  /* no answer: it is stopped, or out of reach */
  weirRankDead = 3     /* its process has ended */
};

/* Asks the processes of all ranks and writes one of the numbers above for each, by rank; `states` has room
   for as many as the communicator has ranks. Takes next to no time where all answer or are dead, else as long
   as a lost peer may take to be noticed (WEIR_PEER_TIMEOUT). Also works after an error of the communicator.
   Not collective. Returns an ncclResult_t: 0; 4 (ncclInvalidArgument) where `comm` is no communicator, or is
   used by another thread, or `states` is NULL; else why the communicator never met its ranks.
   ncclGetLastError says in a sentence what was wrong. Used by one thread of a communicator at a time. */
int weirCommRankStates(struct ncclComm* comm, int* states);

/* From now on a call of this communicator fails when for so many milliseconds nothing moved because a rank,
   which runs, did not make its call, or because ranks wait for each other; 0: it waits for ever. Takes the
   place of WEIR_STUCK_TIMEOUT for this communicator, of which splits and shrunk ones start with that again.
   Ranks that are dead, stopped or out of reach are noticed as always. Each rank sets it for itself, with the
   same number on all unless it wants to give up first; whoever gives up tells the others, and the
   communicator has failed on all of them. Not collective. Returns an ncclResult_t: 0; 4 (ncclInvalidArgument)
   where `comm` is no communicator, or is used by another thread, or `milliseconds` is negative; else why the
   communicator never met its ranks. ncclGetLastError says in a sentence what was wrong. Used by one thread of
   a communicator at a time. */
int weirCommSetStuckTimeout(struct ncclComm* comm, long long milliseconds);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_FAILURES_H_ */
