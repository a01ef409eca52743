// SPDX-License-Identifier: Apache-2.0

#include "src/net/connection_owner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "src/base/text.h"

namespace weir {
namespace {

/// An address and a port, IPv4 as IPv6 sockets write it.
struct End {
  std::array<std::byte, 16> ip{};
  uint16_t port = 0;

  bool operator==(const End&) const = default;
};

/// ::ffff:a.b.c.d
constexpr size_t kMapped = 12;

void mark_as_mapped(End& end) { end.ip[10] = end.ip[11] = std::byte{0xff}; }

End end_of(const SocketAddress& address) {
  End end;
  end.port = address.port();
  const BytesView ip = address.ip();
  const size_t at = ip.size() == 4 ? kMapped : 0;
  if (at > 0) mark_as_mapped(end);
  std::ranges::copy(ip, end.ip.begin() + static_cast<ptrdiff_t>(at));
  return end;
}

template <typename T>
std::optional<T> number_of(std::string_view text, int base) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Parses "0100007F:1F90", or 32 digits before the colon: 32-bit words in the order of this machine's bytes.
std::optional<End> end_of(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon != 8 && colon != 32) return std::nullopt;
  End end;
  size_t at = colon == 8 ? kMapped : 0;
  if (at > 0) mark_as_mapped(end);
  for (size_t digit = 0; digit < colon; digit += 8, at += sizeof(uint32_t)) {
    const auto word = number_of<uint32_t>(text.substr(digit, 8), 16);
    if (!word) return std::nullopt;
    std::memcpy(end.ip.data() + at, &*word, sizeof *word);
  }
  const auto port = number_of<uint16_t>(text.substr(colon + 1), 16);
  if (!port) return std::nullopt;
  end.port = *port;
  return end;
}

}  // namespace

std::optional<uint32_t> connection_owner(std::string_view table, const SocketAddress& own,
                                         const SocketAddress& other) {
  enum Field : size_t { kOwn = 1, kOther = 2, kUser = 7, kInode = 9 };
  const End from = end_of(own);
  const End to = end_of(other);
  const std::string port = fmt::format(":{:04X} ", own.port());  // most rows are of other ports
  for (const std::string_view line : split_list(table, '\n')) {
    if (line.find(port) == std::string_view::npos) continue;
    const std::vector<std::string_view> fields = split_list(line, ' ');
    if (fields.size() <= kInode || end_of(fields[kOwn]) != from || end_of(fields[kOther]) != to) continue;
    // A socket that its process has closed has no inode, and is listed as one of root.
    if (number_of<uint64_t>(fields[kInode], 10).value_or(0) == 0) continue;
    return number_of<uint32_t>(fields[kUser], 10);
  }
  return std::nullopt;
}

std::optional<uint32_t> connection_owner(const Socket& connection) {
  const auto peer = connection.peer_address();
  const auto own = connection.local_address();
  if (!peer.ok() || !own.ok()) return std::nullopt;
  for (const char* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    if (const auto user = connection_owner(file_text(path).value_or(""), *peer, *own)) return user;
  }
  return std::nullopt;
}

}  // namespace weir
