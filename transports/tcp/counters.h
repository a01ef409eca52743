// SPDX-License-Identifier: Apache-2.0
/// Counters of the channels of a tcp transport. They outlive the channels.
/// Tests: tests/transports/net_counters_test.cc
#pragma once

#include "src/net/connection_state.h"
#include "transports/net_counters.h"

namespace weir::tcp {

struct Counters {
  LiveNetCounters live_counters;
  ConnectionSet connections;  ///< of all senders

  NetCounters read() const {
    NetCounters all = live_counters.read();
    all.retransmitted = connections.retransmitted();
    return all;
  }
};

}  // namespace weir::tcp
