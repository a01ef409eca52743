// SPDX-License-Identifier: Apache-2.0
/// net_plugin: connects ranks whose hosts have an NCCL net plugin for the same network.
///
/// The two ends of a channel connect at the receiver's listener and exchange the plugin's handles there;
/// messages then use the plugin's connections round-robin, one connection per device that both hosts have
/// (rails).
/// Tests: tests/transports/net_plugin_test.cc
#pragma once

#include <memory>

#include "src/drivers/net_plugin.h"
#include "src/net/listener/listener.h"
#include "transports/memory/transport.h"
#include "transports/transport.h"

namespace weir {

/// `listener` may be null. `plugin` may be an error; then no peer can be reached, and why_not contains that
/// error.
///
/// The destructor may wait up to 0.2 s for peers to drain closed channels, because plugins cannot cancel
/// requests.
std::unique_ptr<Transport> make_net_plugin(const Identity& self, Listener* listener,
                                           Result<std::unique_ptr<drivers::NetPlugin>> plugin);

}  // namespace weir
