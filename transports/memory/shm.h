// SPDX-License-Identifier: Apache-2.0
/// shm: ranks of one host, through each other's segments, mapped by memfd.
///
/// Works between processes of one user that see each other in /proc; containers need one pid namespace. Where
/// it does not, reach() says what would have to change.
#pragma once

#include <memory>

#include "transports/memory/transport.h"

namespace weir {

/// `segment` may be null. `disabled`: the user wants no shared memory (NCCL_SHM_DISABLE).
std::unique_ptr<Transport> make_shm(const Identity& self, Segment* segment, bool disabled);

}  // namespace weir
