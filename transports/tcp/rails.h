// SPDX-License-Identifier: Apache-2.0
/// The addresses of this process in transport addresses of tcp, and the paths from them to the addresses of a
/// peer.
/// Tests: tests/transports/tcp_rails_test.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/status.h"
#include "src/net/interfaces.h"
#include "src/net/socket.h"

namespace weir::tcp {

/// One address of a listener, and its interface.
struct Rail {
  static constexpr uint32_t kMost = 63;

  std::string name;
  SocketAddress listener;
  uint32_t network_bits = 0;   ///< prefix length of its network
  int64_t megabits_per_s = 0;  ///< speed of this host's interface; 0: unknown
  bool running = true;         ///< false: its interface has no carrier now

  void put(ByteWriter& writer) const;
  static Rail get(ByteReader& reader);
  /// Number of connections that fill the interface: one for each 10 Gbit/s, which cores and cloud limits
  /// allow per connection; at most 8; 2 if the speed is unknown.
  uint32_t streams() const;
  /// Formats "eth0 (10.0.0.1)".
  std::string text() const;
};

/// The rails of a listener that listens on `addresses`, as far as `interfaces` contains them.
std::vector<Rail> rails_at(const std::vector<SocketAddress>& addresses,
                           const std::vector<Interface>& interfaces);

/// A path to the listener of a peer.
struct RailPath {
  SocketAddress to;
  std::optional<SocketAddress> from;  ///< local address to bind to; nullopt: the kernel chooses
  std::string text;                   ///< description for messages: "eth0 (10.0.0.1) to eth0 (10.0.0.2)"
  bool running = true;                ///< both interfaces have carriers
};

/// All paths: pairs of rails in the same network; if there are none, the first rail with the first, and so
/// on. Skips an address that both hosts have, unless `same_machine`. For a single pair, the kernel chooses
/// the source address. Queries the routing table, sends nothing. `theirs` begins with the main address of the
/// peer's listener; an error is about that address.
Result<std::vector<RailPath>> paths_between(const std::vector<Rail>& ours, const std::vector<Rail>& theirs,
                                            bool same_machine);

}  // namespace weir::tcp
