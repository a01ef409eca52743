// SPDX-License-Identifier: Apache-2.0
/// The user at the other end of a TCP connection, where that end is on this host.
///
/// Thread-safe. Reads files of /proc, which do not block.
/// Tests: tests/net/connection_owner_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/net/socket.h"

namespace weir {

/// The user who has made the other end of `connection`; nullopt if that end is on another host or in another
/// network namespace, or is closed.
std::optional<uint32_t> connection_owner(const Socket& connection);

/// The user of the socket with the address `own` that is connected to `other`, from the text of /proc/net/tcp
/// or /proc/net/tcp6; nullopt if it is not there or no process has it any more. An IPv4 address is also found
/// where an IPv6 socket uses it.
std::optional<uint32_t> connection_owner(std::string_view table, const SocketAddress& own,
                                         const SocketAddress& other);

}  // namespace weir
