// SPDX-License-Identifier: Apache-2.0
/// The ports at which a process may listen: what a firewall lets through.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "src/net/socket.h"
#include "weir/status.h"

namespace weir {

/// Ports from `first` to `last`, both included.
struct PortRange {
  uint16_t first = 0;  ///< 0: any port that is free
  uint16_t last = 0;

  /// "50000", "50000-50100", or empty: any. invalid_argument says what was expected.
  static Result<PortRange> parse(std::string_view text);
  /// As parse reads it.
  std::string text() const;

  bool operator==(const PortRange&) const = default;
};

/// Listens at the first port of the range that is free on `address`, whose own port does not matter.
/// invalid_usage when all are taken; the sentence names range and address.
Result<Socket> listen_in(const SocketAddress& address, const PortRange& ports);

}  // namespace weir
