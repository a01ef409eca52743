// SPDX-License-Identifier: Apache-2.0
/// Network interfaces, and which of them this process uses.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/net/socket.h"
#include "weir/status.h"

namespace weir {

struct Interface {
  std::string name;
  SocketAddress address;       ///< port 0
  uint32_t network_bits = 0;   ///< length of the prefix of its network
  bool hardware = false;       ///< a device, in contrast to bridges, tunnels and the like
  int64_t megabits_per_s = 0;  ///< 0: unknown

  bool operator==(const Interface&) const = default;
};

/// What the user asks for, and what is to be reached.
struct InterfaceWish {
  std::string names;   ///< as NCCL_SOCKET_IFNAME: prefixes; '^' first excludes, '=' first (or second) means
                       ///< exact names
  std::string family;  ///< as NCCL_SOCKET_FAMILY: AF_INET, AF_INET6 or empty
  std::optional<SocketAddress> reach;  ///< the address where the ranks gather, if it is known
};

/// An interface, and a sentence that says why this one.
struct InterfaceChoice {
  Interface interface;
  std::string why;
  std::vector<Interface> rails = {};  ///< others that carry data beside it, an address of its family each
  std::vector<std::string> left_out = {};  ///< a sentence for each of the rest, beginning with its name
};

/// The addresses of all running interfaces, in the kernel's order, IPv4 before IPv6, link-local IPv6 last.
Result<std::vector<Interface>> list_interfaces();

/// True if both addresses are of one family and agree in their first `bits`.
bool same_network(const SocketAddress& a, const SocketAddress& b, uint32_t bits);

/// Chooses: what the wish names; else the way to `reach`; else the first with a name that begins with "ib",
/// else any but docker, lo and virbr, else docker, else lo, else virbr. `route` is the local address from
/// which the kernel would connect to `reach`, if any. Rails: what the wish names; without names, devices
/// as fast as the first. A pure function; invalid_argument names what there is when nothing fits.
Result<InterfaceChoice> choose_interface(const std::vector<Interface>& interfaces, const InterfaceWish& wish,
                                         const std::optional<SocketAddress>& route);

/// Both, on this machine.
Result<InterfaceChoice> choose_interface(const InterfaceWish& wish);

}  // namespace weir
