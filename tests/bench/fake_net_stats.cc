// SPDX-License-Identifier: Apache-2.0
// What the fake libnccl lacks: counters, which grow by the same amount from call to call.
#include <map>
#include <mutex>

#include "weir/net_stats.h"

extern "C" int weirCommNetStats(struct ncclComm* comm, weirNetStats_t* stats, size_t size) {
  static std::mutex mutex;
  static std::map<struct ncclComm*, uint64_t> calls;
  if (size != sizeof *stats) return 4;
  const std::lock_guard lock(mutex);
  const uint64_t call = ++calls[comm];
  *stats = {.sentBytes = 250'000 * call,
            .receivedBytes = 200'000 * call,
            .sentMessages = 40 * call,
            .receivedMessages = 30 * call,
            .grants = 3 * call,
            .stalls = 2 * call,
            .stalledNs = 1'500'000 * call,
            .abandonedConnections = 7 * call,
            .retransmittedSegments = 11 * call,
            .droppedPackets = 5 * call,
            .portRetries = 6 * call};
  return 0;
}
