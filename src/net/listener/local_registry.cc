// SPDX-License-Identifier: Apache-2.0

#include "src/net/listener/local_registry.h"

#include <fmt/format.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>

#include "src/base/shortage.h"
#include "src/base/text.h"

namespace weir {
namespace {

constexpr std::string_view kBegin = "weir/listener/";

/// Parses "weir/listener/4711/10.0.0.1:40123"; nullopt for any other name.
std::optional<RegisteredListener> parse(std::string_view name) {
  if (!name.starts_with(kBegin)) return std::nullopt;
  name.remove_prefix(kBegin.size());
  RegisteredListener entry;
  const size_t slash = std::min(name.find('/'), name.size());
  const auto [end, error] = std::from_chars(name.data(), name.data() + slash, entry.pid);
  if (error != std::errc() || end != name.data() + slash || slash == name.size() || entry.pid <= 0)
    return std::nullopt;
  name.remove_prefix(slash + 1);
  // Accept numeric addresses only: SocketAddress::parse would look up a host name.
  const bool numeric = name.find_first_not_of("0123456789abcdefABCDEF.:[]%") == std::string_view::npos ||
                       name.starts_with('[');
  if (!numeric) return std::nullopt;
  const auto listener = SocketAddress::parse(name);
  if (!listener.ok()) return std::nullopt;
  entry.listener = *listener;
  return entry;
}

}  // namespace

Result<Socket> register_locally(const SocketAddress& listener) {
  const std::string name = fmt::format("{}{}/{}", kBegin, getpid(), listener.text());
  sockaddr_un own{};
  own.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof own.sun_path)
    return Status(Code::system_error, fmt::format("the socket name {} is too long", name));
  std::memcpy(own.sun_path + 1, name.data(), name.size());
  Socket socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (!socket.valid() || ::bind(socket.fd(), reinterpret_cast<sockaddr*>(&own), bytes) != 0)
    return system_failure(fmt::format("cannot bind a socket to the name {}", name), errno);
  return socket;
}

std::vector<RegisteredListener> read_local_registry() {
  std::ifstream file("/proc/net/unix");
  return read_local_registry(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::vector<RegisteredListener> read_local_registry(std::string_view text) {
  std::vector<RegisteredListener> entries;
  for (const std::string_view line : split_list(text, '\n')) {
    const size_t at = line.find(" @");
    if (at == std::string_view::npos) continue;
    if (auto entry = parse(line.substr(at + 2))) entries.push_back(*entry);
  }
  std::ranges::sort(entries, {}, &RegisteredListener::pid);
  return entries;
}

}  // namespace weir
