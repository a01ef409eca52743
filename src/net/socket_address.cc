// SPDX-License-Identifier: Apache-2.0

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <charconv>
#include <memory>

#include "src/net/socket.h"

namespace weir {
namespace {

struct HostPort {
  std::string host;
  uint16_t port = 0;
};

std::optional<HostPort> split(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  HostPort out;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  if (host.front() == '[') {
    if (host.size() < 3 || host.back() != ']') return std::nullopt;
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;  // an IPv6 address needs brackets: otherwise its last group could be taken for the
                          // port
  }
  out.host = host;
  return out;
}

Result<SocketAddress> parse_with(std::string_view text, int flags) {
  const auto parts = split(text);
  if (!parts) {
    return Status(
        Code::invalid_argument,
        fmt::format("\"{}\" is not an address; expected host:port, 1.2.3.4:port or [IPv6]:port", text));
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(parts->host.c_str(), nullptr, &hints, &list); error != 0) {
    return Status(Code::invalid_argument,
                  fmt::format("cannot resolve the host of address \"{}\": {}", text, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(list, &freeaddrinfo);
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (auto address = SocketAddress::from(entry->ai_addr)) {
      address->set_port(parts->port);
      return *address;
    }
  }
  return Status(Code::invalid_argument, fmt::format("the host of address \"{}\" has no IP address", text));
}

}  // namespace

Result<SocketAddress> SocketAddress::parse(std::string_view text) { return parse_with(text, 0); }

Result<SocketAddress> SocketAddress::parse_numeric(std::string_view text) {
  return parse_with(text, AI_NUMERICHOST);
}

SocketAddress SocketAddress::loopback(int family, uint16_t port) {
  SocketAddress address;
  address.family_ = static_cast<uint16_t>(family);
  address.port_ = port;
  if (family == AF_INET) {
    address.ip_[0] = std::byte{127};
    address.ip_[3] = std::byte{1};
  } else {
    address.ip_[15] = std::byte{1};
  }
  return address;
}

SocketAddress SocketAddress::any(int family) {
  SocketAddress address;
  address.family_ = static_cast<uint16_t>(family);
  return address;
}

std::optional<SocketAddress> SocketAddress::from(const sockaddr* raw) {
  if (raw == nullptr) return std::nullopt;
  SocketAddress address;
  address.family_ = raw->sa_family;
  if (raw->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, raw, sizeof in);
    address.port_ = ntohs(in.sin_port);
    std::memcpy(address.ip_.data(), &in.sin_addr, 4);
    return address;
  }
  if (raw->sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, raw, sizeof in);
    address.port_ = ntohs(in.sin6_port);
    address.scope_ = in.sin6_scope_id;
    std::memcpy(address.ip_.data(), &in.sin6_addr, 16);
    return address;
  }
  return std::nullopt;
}

socklen_t SocketAddress::to_raw(sockaddr_storage& raw) const {
  raw = {};
  if (family_ == AF_INET) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port_);
    std::memcpy(&in.sin_addr, ip_.data(), 4);
    std::memcpy(&raw, &in, sizeof in);
    return sizeof in;
  }
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_port = htons(port_);
  in.sin6_scope_id = scope_;
  std::memcpy(&in.sin6_addr, ip_.data(), 16);
  std::memcpy(&raw, &in, sizeof in);
  return sizeof in;
}

bool SocketAddress::is_loopback() const {
  if (family_ == AF_INET) return ip_[0] == std::byte{127};
  return family_ == AF_INET6 && *this == loopback(AF_INET6, port_);
}

std::string SocketAddress::host_text() const {
  char ip[INET6_ADDRSTRLEN] = "";
  if (!valid()) return "no address";
  inet_ntop(family_, ip_.data(), ip, sizeof ip);
  if (family_ == AF_INET) return ip;
  char interface[IF_NAMESIZE] = "";
  if (scope_ == 0) return fmt::format("[{}]", ip);
  if (if_indextoname(scope_, interface) != nullptr) return fmt::format("[{}%{}]", ip, interface);
  return fmt::format("[{}%{}]", ip, scope_);
}

std::string SocketAddress::text() const {
  return valid() ? fmt::format("{}:{}", host_text(), port_) : host_text();
}

}  // namespace weir
