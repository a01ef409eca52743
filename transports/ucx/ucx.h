// SPDX-License-Identifier: Apache-2.0
/// ucx: whatever UCX can reach, by active messages: networks and devices that weir has no driver for.
///
/// Each communicator rank has one worker; all of its channels share it. A sender's end says hello to the
/// receiver's worker, which says welcome; then messages go one way and credits for slots that were given back
/// the other. Which of its ways UCX takes, UCX_TLS and UCX_NET_DEVICES decide.
#pragma once

#include <memory>

#include "src/drivers/ucx.h"
#include "transports/memory/transport.h"

namespace weir {

std::unique_ptr<Transport> make_ucx(const Identity& self);

}  // namespace weir
