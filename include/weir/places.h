// SPDX-License-Identifier: Apache-2.0
/// Where a communicator's ranks are: which of them share a host, and which hosts a leaf switch. What a
/// program needs that places its own groups of ranks. C and C++; needs no other header.
///
/// A program that must also run with NCCL's library declares the function weak, or asks dlsym for it.
#ifndef WEIR_PLACES_H_
#define WEIR_PLACES_H_

#ifdef __cplusplus
extern "C" {
#endif

struct ncclComm;

typedef struct weirPlace {
  int host; /* hosts are numbered from 0 in the order of their lowest ranks; NCCL_HOSTID tells hosts apart, if
               given */
  int leaf; /* so are groups of hosts that are attached to the same leaf switches. 0 for all where no switch
               is known: neither found nor told (WEIR_FABRIC_FILE) */
} weirPlace_t;

/* Writes the place of each rank, by rank; `places` has room for as many as the communicator has ranks. The
   same on all ranks. Not collective, waits for nobody. Returns an ncclResult_t: 0; 4 (ncclInvalidArgument)
   where `comm` is no communicator, or is used by another thread, or `places` is NULL; else why the
   communicator never met its ranks. ncclGetLastError says in a sentence what was wrong. Used by one thread of
   a communicator at a time. */
int weirCommPlaces(struct ncclComm* comm, weirPlace_t* places);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_PLACES_H_ */
