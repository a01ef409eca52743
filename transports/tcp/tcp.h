// SPDX-License-Identifier: Apache-2.0
/// tcp: connects ranks over a network, with TCP connections that are delivered at the peer's listener.
///
/// Reaches every listener to which this host has a route. If both processes listen on several interfaces, the
/// connections of a channel are distributed over the pairs of interfaces that share a network. Slots are in
/// private memory; every message is copied into the kernel and out of it.
/// Tests: tests/transports/tcp_test.cc
#pragma once

#include <memory>

#include "src/net/listener/listener.h"
#include "transports/credit_budget.h"
#include "transports/memory/transport.h"

namespace weir {

struct TcpSettings {
  uint32_t streams = 0;  ///< connections per channel; 0: depends on the speed of the interface, at least one
                         ///< per pair of interfaces
  double path_timeout_s = 1;       ///< seconds; then a silent path is abandoned if another path answers
  double first_pause_s = 0;        ///< seconds until a lost path is tried again; 0: path_timeout_s
  bool spreads = false;            ///< connections choose their routes in fabrics with several equal paths
  CreditBudget* budget = nullptr;  ///< budget of this process for incoming data; null: unlimited
  bool budget_for_local_host = false;  ///< the budget also limits ranks of this host
};

/// `listener` may be null. All objects that are pointed to outlive the transport.
std::unique_ptr<Transport> make_tcp(const Identity& self, Listener* listener, const TcpSettings& settings);

}  // namespace weir
