// SPDX-License-Identifier: Apache-2.0
/// Packets that this host's kernel has dropped at its network interfaces.
///
/// The counts come from the kernel (rtnetlink: links and queueing disciplines), so they are those of this
/// network namespace even where /sys belongs to another one. Needs no privilege.
/// Tests: tests/net/interface_drops_test.cc
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "src/base/status.h"

namespace weir {

/// The packets dropped since the host booted at the interfaces with these names: drops by full queues (the
/// root queueing discipline), packets that drivers did not send (tx_dropped), and packets that arrived when
/// the interface had no buffer (rx_missed_errors). Unknown names count nothing. A few system calls, which do
/// not wait for other processes. Thread-safe. system_error where the kernel does not answer.
Result<uint64_t> dropped_packets(const std::set<std::string>& interfaces);

}  // namespace weir
