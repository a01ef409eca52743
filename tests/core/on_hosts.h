// SPDX-License-Identifier: Apache-2.0
/// Ranks by their hosts alone.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "src/core/call/peer_address.h"

namespace weir::core {

inline std::vector<PeerAddress> on_hosts(std::initializer_list<uint64_t> hosts) {
  std::vector<PeerAddress> peers;
  for (const uint64_t host : hosts) peers.push_back({{}, host, 0, ""});
  return peers;
}

}  // namespace weir::core
