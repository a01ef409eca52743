// SPDX-License-Identifier: Apache-2.0
/// Packets that were lost at the network interfaces of this host.
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

/// Counts since the host booted.
struct InterfaceFaults {
  /// Drops by full queues (the root queueing discipline), packets that drivers did not send (tx_dropped), and
  /// packets that arrived when the interface had no buffer (rx_missed_errors).
  uint64_t dropped = 0;
  uint64_t damaged = 0;  ///< errors of receiving and sending (rx_errors, tx_errors)
};

/// The sums over the interfaces with these names. Unknown names count nothing. A few system calls, which do
/// not wait for other processes. Thread-safe. system_error where the kernel does not answer.
Result<InterfaceFaults> interface_faults(const std::set<std::string>& interfaces);

}  // namespace weir
