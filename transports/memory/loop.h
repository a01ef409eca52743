/// loop: ranks of one process, through each other's homes as they lie in the address space.
#pragma once

#include <memory>

#include "transports/memory/transport.h"

namespace weir {

/// `homes` is the one object that all ranks of this process share; it learns `home`. Both may be null.
std::unique_ptr<Transport> make_loop(const Identity& self, Home* home, LocalHomes* homes);

}  // namespace weir
