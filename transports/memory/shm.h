// SPDX-License-Identifier: Apache-2.0
/// shm: connects ranks of one host through each other's segments, mapped by memfd.
///
/// Works between processes of one user that see each other in /proc; containers must share a pid namespace.
/// If it does not work, reach() returns the reason and the remedy.
/// Tests: tests/transports/shm_test.cc
#pragma once

#include <memory>

#include "transports/memory/transport.h"

namespace weir {

/// `disabled`: the user forbids shared memory (NCCL_SHM_DISABLE). Peers may map memory of `registry`.
std::unique_ptr<Transport> make_shm(const Identity& self, OwnSegment own, bool disabled,
                                    const device::MemoryRegistry* registry = nullptr);

}  // namespace weir
