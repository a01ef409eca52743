// SPDX-License-Identifier: Apache-2.0
/// The memory of the board on which the processes of a host share what one of them has computed (HostBoard).
/// Tests: tests/core/host_board_test.cc
#pragma once

#include <optional>
#include <vector>

#include "src/base/bytes.h"
#include "src/core/bootstrap/bootstrap.h"
#include "src/device/shared_memory.h"

namespace weir::core {

/// The number of processes of the host of rank `self`.
int processes_beside(const std::vector<PeerAddress>& peers, Rank self);

/// The memory of the board of this host, made by its lowest rank; nullopt on the others, where there are
/// fewer than `least_ranks` ranks, or one process, and where the system gives none.
std::optional<device::SharedMemory> make_board_memory(const Bootstrap& bootstrap, int least_ranks);

/// Its handle for the other processes; empty: there is none.
Bytes handle_bytes(const std::optional<device::SharedMemory>& memory);

}  // namespace weir::core
