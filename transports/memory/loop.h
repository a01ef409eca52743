// SPDX-License-Identifier: Apache-2.0
/// loop: ranks of one process, through each other's segments as they lie in the address space.
#pragma once

#include <memory>

#include "transports/memory/transport.h"

namespace weir {

/// `segments` is the one object that all ranks of this process share; it learns `segment`. Both may be null.
std::unique_ptr<Transport> make_loop(const Identity& self, Segment* segment, LocalSegments* segments);

}  // namespace weir
