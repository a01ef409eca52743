// SPDX-License-Identifier: Apache-2.0
/// The addresses of this process, as transport addresses of tcp name them, and the paths from them to those
/// of a peer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/base/bytes.h"
#include "src/net/interfaces.h"
#include "src/net/socket.h"
#include "weir/status.h"

namespace weir::tcp {

/// One address of a listener and the interface behind it.
struct Rail {
  static constexpr uint32_t kMost = 63;

  std::string name;
  SocketAddress listener;
  uint32_t network_bits = 0;   ///< length of the prefix of its network
  int64_t megabits_per_s = 0;  ///< of this host's own; 0: unknown

  void put(ByteWriter& writer) const;
  static Rail get(ByteReader& reader);
  /// Connections that it takes to fill it: one for each 10 Gbit/s, which a core and the limits of clouds
  /// leave to a connection, at most 8; 2 where the speed is unknown.
  uint32_t streams() const;
  /// "eth0 (10.0.0.1)".
  std::string text() const;
};

/// The rails of a listener that listens on `addresses`, as far as `interfaces` have them.
std::vector<Rail> rails_at(const std::vector<SocketAddress>& addresses,
                           const std::vector<Interface>& interfaces);

/// A way to the listener of a peer.
struct Path {
  SocketAddress to;
  std::optional<SocketAddress> from;  ///< bound to this address; nothing: the kernel chooses
  std::string text;                   ///< "eth0 (10.0.0.1) to eth0 (10.0.0.2)", for sentences
};

/// All ways: pairs of rails in the same network, or, where there are none, the first with the first and so
/// on. An address that both have leads nowhere, unless `same_machine`. One pair is left to the kernel's
/// choice of source. Asks the routing table, sends nothing. `theirs` begins with the main address of the
/// peer's listener; the error is about that one.
Result<std::vector<Path>> paths_between(const std::vector<Rail>& ours, const std::vector<Rail>& theirs,
                                        bool same_machine);

}  // namespace weir::tcp
