// SPDX-License-Identifier: Apache-2.0
/// How much a TCP connection has carried, and for how long it was at it, as the kernel counts both.
/// Tests: tests/net/connection_use_test.cc
#pragma once

#include <cstdint>
#include <optional>

namespace weir {

struct ConnectionUse {
  uint64_t acknowledged_bytes = 0;
  /// Time in which data were under way, without the time in which the receiver had no room; us. The kernel
  /// counts in its ticks, of 1 to 10 ms, so that only longer times mean something.
  uint64_t busy_us = 0;
};

/// Since the connection was made; nullopt: the kernel does not tell it (before Linux 4.10). A system call.
std::optional<ConnectionUse> connection_use(int socket);

}  // namespace weir
