// SPDX-License-Identifier: Apache-2.0
/// tcp: ranks that a network joins, over connections that are delivered at the peer's listener.
///
/// Reaches whoever's listener this host has a route to. Where both processes have listeners on several
/// interfaces, the connections of a channel are dealt over the pairs of them that share a network. Slots are
/// in private memory; a message is copied into the kernel and out of it.
#pragma once

#include <memory>

#include "src/net/listener/listener.h"
#include "transports/credit_budget.h"
#include "transports/memory/transport.h"

namespace weir {

struct TcpSettings {
  uint32_t streams =
      0;  ///< connections per channel; 0: by the speed of the interface, at least one per pair of interfaces
  double path_timeout_s = 1;       ///< a path that does not answer for so long while another does is given up
  bool spreads = false;            ///< connections choose their ways through fabrics with equal paths
  CreditBudget* budget = nullptr;  ///< of this process, for what comes to it; null: peers send what they like
  bool budget_for_local_host = false;  ///< it also limits ranks of this host
};

/// `listener` may be null. Everything pointed to outlives the transport.
std::unique_ptr<Transport> make_tcp(const Identity& self, Listener* listener, const TcpSettings& settings);

}  // namespace weir
