// SPDX-License-Identifier: Apache-2.0
/// The listener of a peer, as the addresses of transports that meet there name it.
#pragma once

#include <optional>
#include <string_view>

#include "src/net/socket.h"
#include "transports/address.h"

namespace weir {

/// Asks the routing table whether there is a way, from an address of ours if one is given. Sends nothing.
Status check_route(const SocketAddress& to, const std::optional<SocketAddress>& from = std::nullopt);

/// Reads the address that follows the head of a transport address and checks that it leads anywhere from
/// here, without sending anything. `machine` is host_identity(""): loopback joins hosts that NCCL_HOSTID only
/// pretends to be apart.
Result<SocketAddress> read_peer_listener(ByteReader& reader, std::string_view transport,
                                         const AddressHead& head, uint64_t machine);

}  // namespace weir
