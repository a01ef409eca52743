// SPDX-License-Identifier: Apache-2.0
/// The network interfaces of this host, and the choice of those that this process uses.
/// Tests: tests/net/interfaces_test.cc
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/net/socket.h"

namespace weir {

struct Interface {
  std::string name;
  SocketAddress address;       ///< address of the interface; its port is 0
  uint32_t network_bits = 0;   ///< length of the prefix of its network
  bool hardware = false;       ///< true for a device; false for bridges, tunnels and other virtual interfaces
  int64_t megabits_per_s = 0;  ///< speed in Mbit/s; 0: unknown
  bool running = true;         ///< false: it is up, but has no carrier (yet): no cable, a link in training

  bool operator==(const Interface&) const = default;
};

/// What the user wants of the interface, and the address to reach through it.
struct InterfaceSelection {
  std::string names;   ///< value of NCCL_SOCKET_IFNAME: prefixes; a leading '^' excludes, '=' first (or
                       ///< second) means exact names
  std::string family;  ///< value of NCCL_SOCKET_FAMILY: AF_INET, AF_INET6 or empty
  std::optional<SocketAddress> reach;  ///< address of the bootstrap root, if it is known
};

/// The chosen interface, and a sentence that says why it was chosen.
struct InterfaceChoice {
  Interface interface;
  std::string why;
  std::vector<Interface> rails = {};       ///< others that carry data, with an address of the same family
  std::vector<std::string> left_out = {};  ///< unused interfaces: sentences "name (address): reason"
  std::vector<std::string> doubts = {};    ///< sentences about what probably was not meant
};

/// The addresses of all running interfaces, in the kernel's order, IPv4 before IPv6, link-local IPv6 last.
Result<std::vector<Interface>> list_interfaces();

/// True if both addresses are of one family and agree in their first `bits`.
bool same_network(const SocketAddress& a, const SocketAddress& b, uint32_t bits);

/// Chooses an interface that the selection names; else the one on the route to `reach`; else the first whose
/// name begins with "ib"; else any but docker, lo and virbr; else docker, else lo, else virbr. `route` is the
/// local address from which the kernel would connect to `reach`, if any. An interface without carrier is
/// chosen only where no other will do: it is on the route, or nothing else has the name. Loopback is not
/// chosen by itself where `reach` is elsewhere. Rails are the running interfaces that the selection names;
/// without names, devices as fast as the first. A pure function. If none matches, invalid_argument lists the
/// existing interfaces.
Result<InterfaceChoice> choose_interface(const std::vector<Interface>& interfaces,
                                         const InterfaceSelection& selection,
                                         const std::optional<SocketAddress>& route);

/// Calls list_interfaces() and then choose_interface() on this machine.
Result<InterfaceChoice> choose_interface(const InterfaceSelection& selection);

}  // namespace weir
