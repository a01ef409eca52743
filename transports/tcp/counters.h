// SPDX-License-Identifier: Apache-2.0
/// What the channels of a tcp transport count. It outlives them.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>

#include "src/net/socket.h"
#include "transports/net_counters.h"

namespace weir::tcp {

/// Segments that the kernel has sent again on connections, also on those that are open. Thread-safe.
class SentAgain {
 public:
  /// REQUIRES: forgotten before it is closed.
  void watch(const Socket& socket);
  /// The connection will be closed. Nothing happens if it is not watched.
  void forget(const Socket& socket);
  uint64_t segments() const;

 private:
  mutable std::mutex mutex_;
  std::set<int> open_;
  uint64_t closed_ = 0;  // segments of those that are
};

struct Counters {
  LiveNetCounters live_counters;
  SentAgain again;

  NetCounters read() const {
    NetCounters all = live_counters.read();
    all.retransmitted = again.segments();
    return all;
  }
};

}  // namespace weir::tcp
