// SPDX-License-Identifier: Apache-2.0
/// What a communicator has carried over networks, and what was in its way. C and C++; needs no other header.
///
///     weirNetStats_t stats;
///     if (weirCommNetStats(comm, &stats, sizeof stats) == 0) show(stats.sentBytes, stats.stalls);
///
/// A program that must also run with NCCL's library declares the function weak, or asks dlsym for it.
#ifndef WEIR_NET_STATS_H_
#define WEIR_NET_STATS_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ncclComm;

/* Of this rank, in all since the communicator began, what calibration at its start has sent included. Memory
 * that ranks of a host share is no network. What a transport does not count (docs/rate-limiting.md), or the
 * kernel does not tell, is 0. Later versions add fields at the end. */
typedef struct weirNetStats {
  uint64_t sentBytes;             /* payload, without headers; what was sent again counts once */
  uint64_t receivedBytes;         /* payload */
  uint64_t sentMessages;          /* pieces of at most a slot */
  uint64_t receivedMessages;      /* as above */
  uint64_t grants;                /* of credit, given by this rank to senders */
  uint64_t stalls;                /* times that a channel of this rank waited for credit */
  uint64_t stalledNs;             /* how long, in nanoseconds, over all its channels; waits that are over */
  uint64_t abandonedConnections;  /* TCP connections and RDMA queue pairs that broke while others went on */
  uint64_t retransmittedSegments; /* by TCP of this host, on connections of this rank that carry data */
  uint64_t droppedPackets; /* by this host at the interfaces and RDMA ports in use, whosever they are: all
                              ranks of a host tell the same ones */
  uint64_t portRetries;    /* times that those RDMA ports began to send again; likewise */
} weirNetStats_t;

/* Writes the first `size` bytes of what is counted; give sizeof(weirNetStats_t). What this library does not
 * know is 0. Returns an ncclResult_t: 0; 4 (ncclInvalidArgument) where `comm` is no communicator (any more),
 * `stats` is NULL or `size` is none of a version of the struct; 5 (ncclInvalidUsage) while the communicator
 * is being set up; the communicator's error where that failed. ncclGetLastError says in a sentence what was
 * wrong. Any thread, also while another one is inside the communicator or operations are under way; does not
 * wait for them. A few system calls. */
int weirCommNetStats(struct ncclComm* comm, weirNetStats_t* stats, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_NET_STATS_H_ */
