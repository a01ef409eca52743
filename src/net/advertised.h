// SPDX-License-Identifier: Apache-2.0
/// The addresses by which other hosts reach this process where those are not the addresses of its interfaces:
/// behind NAT, on a bridge of containers, behind forwarded ports.
///
/// Everybody calls a process by its advertised address. Processes of the same network namespace connect to
/// its own address instead, since few routers send a host's packets back to it.
///
/// Thread-safe.
/// Tests: tests/net/advertised_test.cc
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/net/ports.h"
#include "src/net/socket.h"

namespace weir {

/// The value of WEIR_ADVERTISE: "203.0.113.7", "203.0.113.7:7000", "[2001:db8::7]:7000" or "name:7000", or a
/// list of such, one for each interface in use. With a port, the first port of WEIR_PORTS is reached there,
/// and the next ones at the next ports; without one, ports are the same on both sides.
class Advertisement {
 public:
  Advertisement() = default;
  /// Names are looked up, which may take seconds. invalid_argument says what was expected.
  static Result<Advertisement> parse(std::string_view text, const PortRange& ports);

  size_t count() const { return addresses_.size(); }
  /// The address under which `own` is advertised if it is on the interface with this number; `own` itself
  /// where nothing is advertised.
  SocketAddress of(size_t interface, const SocketAddress& own) const;
  /// Whether `address` may be one of this process, at whatever port.
  bool names(const SocketAddress& address) const;
  /// The port at which to listen to be reached at the advertised address `at`.
  uint16_t own_port(const SocketAddress& at) const;

 private:
  std::vector<SocketAddress> addresses_;  ///< port 0: ports are the same on both sides
  PortRange ports_;
};

/// A number that is equal in processes of the same network namespace, and of no others.
uint64_t network_identity();

/// Remembers for this process that `own` is the own address of what is advertised as `advertised`, in this
/// network namespace. Does nothing if they are equal.
void note_own_address(const SocketAddress& advertised, const SocketAddress& own);
/// The address to connect to in order to reach `advertised`: its own one where that is known.
SocketAddress own_address_of(const SocketAddress& advertised);

}  // namespace weir
