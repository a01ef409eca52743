// SPDX-License-Identifier: Apache-2.0
/// Packets that this host's kernel has dropped at its network interfaces.
///
/// Asked of the kernel (rtnetlink: links and queueing disciplines), so that they are those of this network
/// namespace, wherever /sys is from. Needs no privilege.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "weir/status.h"

namespace weir {

/// Since the host began, over the interfaces of these names: what their queues had no room for (the root
/// queueing discipline), what their drivers did not send (tx_dropped), and what came when they had no buffer
/// (rx_missed_errors). Names that nobody has count nothing. A few system calls, which do not wait for others.
/// Thread-safe. system_error where the kernel does not answer.
Result<uint64_t> dropped_packets(const std::set<std::string>& interfaces);

}  // namespace weir
