// SPDX-License-Identifier: Apache-2.0
/// What the channels of a tcp transport have in common. It outlives them.
/// Tests: tests/transports/tcp_test.cc
#pragma once

#include "src/net/socket_events.h"
#include "transports/tcp/counters.h"

namespace weir::tcp {

struct Shared {
  Counters counters;
  SocketEvents events;  ///< of all connections that work
};

}  // namespace weir::tcp
