// SPDX-License-Identifier: Apache-2.0
/// The registry of listeners of a host: each process binds a socket in the abstract namespace whose name
/// holds its address. The kernel lists these names in /proc/net/unix and removes them with the process. No
/// data is sent over such a socket.
///
/// Any process of the host may register any address, so a reader must query the address and validate the
/// answer.
/// Tests: tests/net/local_registry_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/net/socket.h"

namespace weir {

/// An entry of the registry.
struct RegisteredListener {
  int32_t pid = 0;
  SocketAddress listener;
};

/// Registers a listener of this process for as long as the socket is open. system_error, with the reason,
/// where it cannot be registered.
Result<Socket> register_locally(const SocketAddress& listener);

/// All entries of this host (of this network namespace, where there are several), ordered by process.
std::vector<RegisteredListener> read_local_registry();
/// Parses the entries from the text of /proc/net/unix.
std::vector<RegisteredListener> read_local_registry(std::string_view text);

}  // namespace weir
