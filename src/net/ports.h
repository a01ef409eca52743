// SPDX-License-Identifier: Apache-2.0
/// The ports on which a process may listen, such as those that a firewall allows.
/// Tests: tests/net/ports_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/status.h"
#include "src/net/socket.h"

namespace weir {

/// Ports from `first` to `last`, both included.
struct PortRange {
  uint16_t first = 0;  ///< first port; 0: any free port
  uint16_t last = 0;

  /// Parses "50000", "50000-50100", or an empty text (any port). invalid_argument says what was expected.
  static Result<PortRange> parse(std::string_view text);
  /// The range in the notation of parse().
  std::string text() const;

  bool operator==(const PortRange&) const = default;
};

/// Listens on the first free port of the range on `address`, whose own port is ignored. invalid_usage when
/// all ports are in use; the message names range and address.
Result<Socket> listen_in(const SocketAddress& address, const PortRange& ports);

}  // namespace weir
