// SPDX-License-Identifier: Apache-2.0
/// The C function of weir/net_stats.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/api/handle.h"
#include "src/api/process.h"

#pragma GCC visibility push(default)
#include "weir/net_stats.h"
#pragma GCC visibility pop

namespace weir::api {
namespace {

constexpr size_t kLeastSize = 10 * sizeof(uint64_t);  // size of the first version
constexpr size_t kMostSize = 4096;                    // limit for later versions
static_assert(sizeof(weirNetStats_t) >= kLeastSize && sizeof(weirNetStats_t) <= kMostSize);

weirNetStats_t stats_of(const NetCounters& counters) {
  weirNetStats_t stats = {};
  stats.sentBytes = counters.sent_bytes;
  stats.receivedBytes = counters.received_bytes;
  stats.sentMessages = counters.sent_messages;
  stats.receivedMessages = counters.received_messages;
  stats.grants = counters.grants;
  stats.stalls = counters.stalls;
  stats.stalledNs = counters.stalled_ns;
  stats.abandonedConnections = counters.given_up;
  stats.retransmittedSegments = counters.retransmitted;
  stats.droppedPackets = counters.dropped;
  stats.portRetries = counters.retries;
  return stats;
}

Status net_stats(ncclComm* comm, weirNetStats_t* out, size_t size) {
  constexpr const char* kFunction = "weirCommNetStats";
  if (comm != nullptr && out == nullptr) return null_argument(kFunction, "stats");
  if (comm != nullptr && (size < kLeastSize || size > kMostSize || size % sizeof(uint64_t) != 0)) {
    return {Code::invalid_argument,
            fmt::format("{} : size is {}; expected sizeof(weirNetStats_t), which is {} here", kFunction, size,
                        sizeof(weirNetStats_t))};
  }
  Status counted;
  WEIR_TRY(look_at(comm, kFunction, [&](const core::Communicator& communicator, const HandleState&) {
    const Result<NetCounters> counters = communicator.net_counters();
    counted = counters.status();
    if (!counters.ok()) return;
    const weirNetStats_t stats = stats_of(*counters);
    std::memset(out, 0, size);
    std::memcpy(out, &stats, std::min(size, sizeof stats));
  }));
  return counted;
}

}  // namespace
}  // namespace weir::api

int weirCommNetStats(ncclComm* comm, weirNetStats_t* stats, size_t size) {
  return weir::api::report([&] { return weir::api::net_stats(comm, stats, size); });
}
