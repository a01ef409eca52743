// SPDX-License-Identifier: Apache-2.0
/// loop: connects ranks of one process through each other's segments in the common address space.
/// Tests: tests/transports/loop_test.cc
#pragma once

#include <memory>

#include "transports/memory/transport.h"

namespace weir {

/// `segments` is shared by all ranks of this process; it may be null. The own segment is added to it.
/// Peers may map memory of `registry`.
std::unique_ptr<Transport> make_loop(const Identity& self, const OwnSegment& own, LocalSegments* segments,
                                     const device::MemoryRegistry* registry = nullptr);

}  // namespace weir
