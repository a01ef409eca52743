// SPDX-License-Identifier: Apache-2.0
/// The registry of listeners of a host: each process listens on a Unix socket in the abstract namespace whose
/// name holds its number and address, and serves questions for reports there. The kernel lists these names in
/// /proc/net/unix and removes them with the process.
///
/// Any process of the host may register any number and any address. A reader therefore asks the kernel for
/// the owner of an entry (local_owner.h), and does not believe the answers of other users.
///
/// Thread-safe. Nothing blocks.
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

  bool operator==(const RegisteredListener&) const = default;
};

/// Registers a listener of this process for as long as the returned socket is open; it listens for readers
/// of reports. system_error, with the reason, where it cannot be registered.
Result<Socket> register_locally(const SocketAddress& listener);

/// Connects to the socket of an entry; nullopt: its queue is full, try again later. remote_error if there is
/// no such entry (any more).
Result<std::optional<Socket>> connect_locally(const RegisteredListener& entry);

/// All entries of this host (of this network namespace, where there are several), ordered by process.
std::vector<RegisteredListener> read_local_registry();
/// Parses the entries from the text of /proc/net/unix.
std::vector<RegisteredListener> read_local_registry(std::string_view text);

}  // namespace weir
