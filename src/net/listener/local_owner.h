// SPDX-License-Identifier: Apache-2.0
/// Who has made an entry of the local registry. Any process may register any name, so only the kernel's word
/// counts.
///
/// Thread-safe. Nothing blocks.
/// Tests: tests/net/local_owner_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "src/net/listener/local_registry.h"
#include "src/net/peer_process.h"

namespace weir {

/// The process that listens on the socket of `entry`; nullopt if there is no such socket any more, or its
/// queue is full.
std::optional<PeerProcess> owner_of(const RegisteredListener& entry);

/// Whether `owner` is the process whose number `entry` has, also by the number that it has in its own pid
/// namespace. A process that this one cannot see is believed to have the number that it claims.
bool is_own_entry(const RegisteredListener& entry, const PeerProcess& owner);

/// The number of a process in its own pid namespace, from the text of its /proc/PID/status; 0 if it is not
/// there.
int32_t innermost_pid(std::string_view status);

}  // namespace weir
