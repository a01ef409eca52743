/// tcp: ranks that a network joins, over connections that are delivered at the peer's door.
///
/// Reaches whoever's door this host has a route to. Slots are in private memory; a message is copied into the
/// kernel and out of it.
#pragma once

#include <memory>

#include "src/base/door.h"
#include "transports/memory_transport.h"

namespace weir {

/// `door` may be null. `streams` connections per channel; 0: two.
std::unique_ptr<Transport> make_tcp(const Identity& self, Door* door, uint32_t streams);

}  // namespace weir
