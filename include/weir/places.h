// SPDX-License-Identifier: Apache-2.0
/// The location of a communicator's ranks: which ranks share a host, and which hosts share a leaf switch. For
/// programs that choose their own groups of ranks. C and C++; needs no other header.
///
/// A program that must also run with NCCL's library should declare the function weak or look it up with
/// dlsym.
/// Tests: tests/library/topology_test.cc
#ifndef WEIR_PLACES_H_
#define WEIR_PLACES_H_

#ifdef __cplusplus
extern "C" {
#endif

struct ncclComm;

typedef struct weirPlace {
  int host; /* number of the rank's host; hosts are numbered from 0 in the order of their lowest ranks.
               NCCL_HOSTID, if set, identifies hosts */
  int leaf; /* number of the group of hosts that are attached to the same leaf switches, numbered in the same
               way; 0 for all ranks if no switch was detected or given (WEIR_FABRIC_FILE) */
} weirPlace_t;

/* Writes the location of each rank; `places` is an array with one element per rank of the communicator. The
   result is the same on all ranks. Not collective; does not wait. Returns an ncclResult_t: 0; 4
   (ncclInvalidArgument) if `comm` is not a communicator, is used by another thread, or `places` is NULL; the
   error of the communicator's set-up if that failed. ncclGetLastError describes the error in a sentence. One
   thread at a time per communicator. */
int weirCommPlaces(struct ncclComm* comm, weirPlace_t* places);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_PLACES_H_ */
