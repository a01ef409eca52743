// SPDX-License-Identifier: Apache-2.0
/// verbs: connects ranks whose hosts have RDMA devices (InfiniBand, RoCE), with reliable queue pairs of
/// libibverbs.
///
/// Reaches peers with an RDMA port in a network of this host. The two ends of a channel connect at the
/// receiver's listener; then the devices write messages directly into the receiver's slots, over all pairs of
/// ports that can communicate (rails).
/// Tests: tests/transports/verbs_test.cc
#pragma once

#include <memory>

#include "src/base/options.h"
#include "src/drivers/verbs.h"
#include "src/net/listener/listener.h"
#include "transports/memory/transport.h"

namespace weir {

/// `listener` may be null. `verbs` may be an error; then no peer can be reached, and why_not contains that
/// error. Only the options NCCL_IB_* and WEIR_PATH_TIMEOUT apply. Ports that `nearest` names are preferred;
/// if the rank has no GPU, all ports are used.
std::unique_ptr<Transport> make_verbs(const Identity& self, Listener* listener,
                                      Result<std::unique_ptr<drivers::Verbs>> verbs, const Options& options,
                                      const NearestPorts& nearest = {});

}  // namespace weir
