// SPDX-License-Identifier: Apache-2.0
/// ucx: reaches whatever UCX reaches, with active messages: also networks and devices for which weir has no
/// driver.
///
/// Each communicator rank has one worker, which all of its channels share. A sending end sends a hello to the
/// receiver's worker, which answers with a welcome; then messages are sent in one direction, and credits for
/// released slots in the other. UCX_TLS and UCX_NET_DEVICES select the transports that UCX uses.
/// Tests: tests/transports/ucx_test.cc
#pragma once

#include <memory>

#include "src/drivers/ucx.h"
#include "transports/memory/transport.h"

namespace weir {

std::unique_ptr<Transport> make_ucx(const Identity& self);

}  // namespace weir
