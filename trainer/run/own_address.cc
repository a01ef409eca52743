// SPDX-License-Identifier: Apache-2.0

#include "trainer/run/own_address.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace weir::trainer {
namespace {

using Found = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// The other address itself if it is one of this host; else that of a datagram socket which is connected to
/// it, although nothing has been sent.
std::string address_towards(const addrinfo& other) {
  const int socket = ::socket(other.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return "";
  sockaddr_storage own{};
  std::memcpy(&own, other.ai_addr, other.ai_addrlen);
  socklen_t size = sizeof own;
  auto* const address = reinterpret_cast<sockaddr*>(&own);
  char host[NI_MAXHOST] = "";
  const bool is_here = ::bind(socket, other.ai_addr, other.ai_addrlen) == 0 || errno == EADDRINUSE;
  if (is_here)
    size = other.ai_addrlen;
  else if (::connect(socket, other.ai_addr, other.ai_addrlen) != 0 ||
           ::getsockname(socket, address, &size) != 0)
    size = 0;
  if (size > 0) (void)getnameinfo(address, size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  close(socket);
  return host;
}

}  // namespace

Result<std::string> own_address(const std::string& other) {
  const size_t colon = other.rfind(':');
  std::string host = other.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const std::string port = colon == std::string::npos ? "" : other.substr(colon + 1);
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  const int error = port.empty() ? EAI_NONAME : getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  const Found found(list, &freeaddrinfo);
  if (error != 0)
    return Status(Code::invalid_argument,
                  fmt::format("{}: expected an address, \"host:port\": {}", other, gai_strerror(error)));
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next)
    if (const std::string own = address_towards(*each); !own.empty())
      return each->ai_family == AF_INET6 ? fmt::format("[{}]:{}", own, port)
                                         : fmt::format("{}:{}", own, port);
  return Status(Code::invalid_argument,
                fmt::format("{}: this host has no route to it: {}", other, std::strerror(errno)));
}

}  // namespace weir::trainer
