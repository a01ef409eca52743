// SPDX-License-Identifier: Apache-2.0
/// verbs: ranks whose hosts have RDMA devices (InfiniBand, RoCE), by reliable queue pairs of libibverbs.
///
/// Reaches whoever has an RDMA port in a network of ours. The two ends of a channel meet at the receiver's
/// listener; from then on messages are written by the devices straight into the receiver's slots, over all
/// ports that both hosts can use for each other (rails).
#pragma once

#include <memory>

#include "src/base/options.h"
#include "src/drivers/verbs.h"
#include "src/net/listener/listener.h"
#include "transports/memory/transport.h"

namespace weir {

/// `listener` may be null. `verbs` may be an error, then nobody is reached, and why_not says why. Of the
/// options those count whose names begin with NCCL_IB_. Ports that are `nearest` are used where they serve; a
/// transport that does not know its GPU uses all.
std::unique_ptr<Transport> make_verbs(const Identity& self, Listener* listener,
                                      Result<std::unique_ptr<drivers::Verbs>> verbs, const Options& options,
                                      const NearestPorts& nearest = {});

}  // namespace weir
