// SPDX-License-Identifier: Apache-2.0
/// A rank's process, and the addresses of its listener. A plain value.
/// Tests: tests/core/peer_info_test.cc
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/process_id.h"
#include "src/base/types.h"
#include "src/net/socket.h"

namespace weir::core {

struct PeerAddress {
  SocketAddress listener;
  uint64_t host = 0;  ///< host_identity()
  int32_t pid = 0;
  std::string hostname;
  std::vector<SocketAddress> other_listeners =
      {};                           ///< addresses on further interfaces, used if `listener` does not answer
  ProcessId process = {};           ///< for processes of the same host
  SocketAddress own_listener = {};  ///< of `listener` in its network namespace, where that is another one
  uint64_t network = 0;             ///< network_identity() of that

  /// "rank 3 (pid 4711 on host alpha)".
  std::string describe(Rank rank) const {
    return fmt::format("rank {} (pid {} on host {})", rank, pid, hostname);
  }
};

}  // namespace weir::core
