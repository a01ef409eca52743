// SPDX-License-Identifier: Apache-2.0
/// The address of a peer's listener as part of transport addresses.
/// Tests: tests/transports/tcp_rails_test.cc, tests/transports/tcp_test.cc
#pragma once

#include <optional>
#include <string_view>

#include "src/net/socket.h"
#include "transports/address.h"

namespace weir {

/// Checks the routing table for a route, from the local address `from` if it is given. Sends nothing.
Status check_route(const SocketAddress& to, const std::optional<SocketAddress>& from = std::nullopt);

/// Reads the address that follows the header of a transport address, and checks for a route to it without
/// sending anything. `machine` is host_identity(""): loopback connects hosts that NCCL_HOSTID only simulates.
Result<SocketAddress> read_peer_listener(ByteReader& reader, std::string_view transport,
                                         const AddressHead& head, uint64_t machine);

}  // namespace weir
