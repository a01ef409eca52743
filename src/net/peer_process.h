// SPDX-License-Identifier: Apache-2.0
/// The process at the other end of a Unix socket and its user, as the kernel knows them.
///
/// Thread-safe. Nothing blocks.
/// Tests: tests/net/peer_process_test.cc
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/net/socket.h"

namespace weir {

struct PeerProcess {
  int32_t pid = 0;   ///< 0: the process lives in a pid namespace that this process cannot see
  uint32_t uid = 0;  ///< the effective user when it called connect() or listen()

  bool operator==(const PeerProcess&) const = default;
};

/// The process at the other end of a Unix stream socket; nullopt for a socket of another kind.
std::optional<PeerProcess> peer_process(const Socket& socket);

/// "process 12 of user 1000", or the address of a peer that is not local; for messages.
std::string peer_words(const Socket& socket);

/// Whether `uid` may read what is for the user of this process: it is the effective user of this process, or
/// root.
bool is_own_user_or_root(uint32_t uid);
/// The same for the effective user `own`. `all_known`: every user has a number of its own in the user
/// namespace of this process; where that is not so, one number stands for all others and is nobody's.
bool is_own_user_or_root(uint32_t uid, uint32_t own, bool all_known);

}  // namespace weir
