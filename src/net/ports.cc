// SPDX-License-Identifier: Apache-2.0

#include "src/net/ports.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

namespace weir {
namespace {

std::optional<uint16_t> read_port(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

}  // namespace

Result<PortRange> PortRange::parse(std::string_view text) {
  if (text.empty()) return PortRange{};
  const size_t dash = text.find('-');
  const auto first = read_port(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : read_port(text.substr(dash + 1));
  if (!first || !last || *last < *first) {
    return Status(Code::invalid_argument,
                  fmt::format("WEIR_PORTS={} is not a range of ports; expected one port from 1 to 65535, or "
                              "the first and the last, like 50000-50100",
                              text));
  }
  return PortRange{*first, *last};
}

std::string PortRange::text() const {
  if (first == 0) return {};
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

Result<Socket> listen_in(const SocketAddress& address, const PortRange& ports) {
  SocketAddress at = address;
  for (uint32_t port = ports.first; port <= ports.last; ++port) {
    at.set_port(static_cast<uint16_t>(port));
    auto listener = Socket::listen(at);
    if (listener.ok() || listener.status().code() != Code::invalid_usage || ports.first == 0) return listener;
  }
  return Status(
      Code::invalid_usage,
      fmt::format("no port of WEIR_PORTS={} is free on {}; give a wider range: each process on this "
                  "host needs one per interface that it uses, and one more for each unique id that "
                  "it makes",
                  ports.text(), address.host_text()));
}

}  // namespace weir
