// SPDX-License-Identifier: Apache-2.0
/// net_plugin: ranks whose hosts have a net plugin of NCCL for the same network.
///
/// The two ends of a channel meet at the receiver's listener and exchange the plugin's handles there; from
/// then on messages travel over the plugin's connections, one per device that both hosts have (rails), in
/// turn.
#pragma once

#include <memory>

#include "src/drivers/net_plugin.h"
#include "src/net/listener/listener.h"
#include "transports/memory/transport.h"
#include "transports/transport.h"

namespace weir {

/// `listener` may be null. `plugin` may be an error, then nobody is reached, and why_not says why.
///
/// Destroying the transport may wait up to 0.2 s for peers to empty channels that were closed: plugins do not
/// take requests back.
std::unique_ptr<Transport> make_net_plugin(const Identity& self, Listener* listener,
                                           Result<std::unique_ptr<drivers::NetPlugin>> plugin);

}  // namespace weir
