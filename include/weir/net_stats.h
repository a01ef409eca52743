// SPDX-License-Identifier: Apache-2.0
/// Counters of a communicator's network traffic, and of stalls, losses and retransmissions. C and C++; needs
/// no other header.
///
///     weirNetStats_t stats;
///     if (weirCommNetStats(comm, &stats, sizeof stats) == 0) show(stats.sentBytes, stats.stalls);
///
/// A program that must also run with NCCL's library should declare the function weak or look it up with
/// dlsym.
/// Tests: tests/api/net_stats_test.cc
#ifndef WEIR_NET_STATS_H_
#define WEIR_NET_STATS_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ncclComm;

/* Totals of this rank since the communicator was created, including the messages of calibration. Memory
 * shared by ranks of a host does not count as a network. Counters that a transport (docs/rate-limiting.md) or
 * the kernel does not provide are 0. Later versions add fields at the end. */
typedef struct weirNetStats {
  uint64_t sentBytes;             /* payload without headers; retransmitted bytes count once */
  uint64_t receivedBytes;         /* payload without headers */
  uint64_t sentMessages;          /* number of messages, each at most one slot */
  uint64_t receivedMessages;      /* number of messages, each at most one slot */
  uint64_t grants;                /* grants of credit by this rank to senders */
  uint64_t stalls;                /* number of waits for credit by channels of this rank */
  uint64_t stalledNs;             /* total time of those waits over all channels in ns, without waits that
                                     have not ended */
  uint64_t abandonedConnections;  /* TCP connections and RDMA queue pairs that broke while others of the
                                     channel continued */
  uint64_t retransmittedSegments; /* segments that TCP of this host has retransmitted on data connections of
                                     this rank */
  uint64_t droppedPackets; /* packets of any process that this host has dropped at the interfaces and RDMA
                              ports in use; the same number on all ranks of a host */
  uint64_t portRetries;    /* retransmissions started at those RDMA ports for any process; the same number on
                              all ranks of a host */
} weirNetStats_t;

/* Writes the first `size` bytes of the counters; pass sizeof(weirNetStats_t). Fields that this version of the
 * library does not have are 0. Returns an ncclResult_t: 0; 4 (ncclInvalidArgument) if `comm` is not (or no
 * longer) a communicator, `stats` is NULL, or `size` is not that of any version of the struct; 5
 * (ncclInvalidUsage) while the communicator is being set up; the error of its set-up if that failed.
 * ncclGetLastError describes the error in a sentence. Any thread, even while another thread uses the
 * communicator or operations are in flight; does not wait for them. A few system calls. */
int weirCommNetStats(struct ncclComm* comm, weirNetStats_t* stats, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* WEIR_NET_STATS_H_ */
