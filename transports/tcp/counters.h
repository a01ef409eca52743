// SPDX-License-Identifier: Apache-2.0
/// Counters of the channels of a tcp transport. They outlive the channels.
/// Tests: tests/transports/net_counters_test.cc
#pragma once

#include <cstdint>
#include <mutex>
#include <set>

#include "src/net/socket.h"
#include "transports/net_counters.h"

namespace weir::tcp {

/// Counts the segments that the kernel has retransmitted on all watched connections, open ones included.
/// Thread-safe.
class RetransmissionCounter {
 public:
  /// REQUIRES: forget() is called before the socket is closed.
  void watch(const Socket& socket);
  /// Call it before the connection is closed. Has no effect if the socket is not watched.
  void forget(const Socket& socket);
  uint64_t segments() const;

 private:
  mutable std::mutex mutex_;
  std::set<int> open_;
  uint64_t closed_ = 0;  // segments of connections that were closed
};

struct Counters {
  LiveNetCounters live_counters;
  RetransmissionCounter again;

  NetCounters read() const {
    NetCounters all = live_counters.read();
    all.retransmitted = again.segments();
    return all;
  }
};

}  // namespace weir::tcp
