// SPDX-License-Identifier: Apache-2.0

#include "transports/peer_listener.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "src/base/shortage.h"
#include "src/net/advertised.h"

namespace weir {
Status check_route(const SocketAddress& to, const std::optional<SocketAddress>& from) {
  const Socket probe(socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage raw{};
  const bool bound =
      !from || bind(probe.fd(), reinterpret_cast<const sockaddr*>(&raw), from->to_raw(raw)) == 0;
  const socklen_t size = to.to_raw(raw);
  if (probe.valid() && bound && connect(probe.fd(), reinterpret_cast<const sockaddr*>(&raw), size) == 0)
    return {};
  const int error = errno;
  if (is_shortage(error))
    return system_failure(fmt::format("cannot look for a route to {}", to.text()), error);
  return Status(Code::system_error,
                fmt::format("this host has no route to {}: {}; select the interface with "
                            "NCCL_SOCKET_IFNAME or the address family with NCCL_SOCKET_FAMILY",
                            to.text(), system_words(error)));
}

Result<SocketAddress> read_peer_listener(ByteReader& reader, std::string_view transport,
                                         const AddressHead& head, uint64_t machine) {
  const auto address = reader.get<SocketAddress>();
  if (!reader.ok() || !address.valid()) return short_address(transport, head.rank);
  if (address.is_loopback() && head.host != machine) {
    return Status(
        Code::invalid_usage,
        fmt::format(
            "rank {} listens at {}, which only its own host can reach; select an interface that other "
            "hosts can reach with NCCL_SOCKET_IFNAME",
            head.rank, address.text()));
  }
  WEIR_TRY(check_route(own_address_of(address)));
  return address;
}

}  // namespace weir
