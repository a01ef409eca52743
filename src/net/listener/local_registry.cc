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

#include "src/base/shortage.h"
#include "src/base/text.h"

namespace weir {
namespace {

constexpr std::string_view kBegin = "weir/listener/";
constexpr int kWaitingReaders = 4096;

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

/// Whether a row of /proc/net/unix is that of a listening socket: its connections have the same name.
bool listens(std::string_view row) {
  const std::vector<std::string_view> fields = split_list(row, ' ');
  constexpr size_t kFlags = 3;
  constexpr uint32_t kListens = 1 << 16;
  uint32_t flags = 0;
  if (fields.size() <= kFlags) return false;
  const std::string_view text = fields[kFlags];
  std::from_chars(text.data(), text.data() + text.size(), flags, 16);
  return (flags & kListens) != 0;
}

std::string name_of(const RegisteredListener& entry) {
  return fmt::format("{}{}/{}", kBegin, entry.pid, entry.listener.text());
}

struct SocketName {
  sockaddr_un raw{};
  socklen_t size = 0;

  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&raw); }
};

Result<SocketName> socket_name(const RegisteredListener& entry) {
  const std::string text = name_of(entry);
  SocketName name;
  name.raw.sun_family = AF_UNIX;
  if (text.size() + 1 > sizeof name.raw.sun_path)
    return Status(Code::system_error, fmt::format("the socket name {} is too long", text));
  std::memcpy(name.raw.sun_path + 1, text.data(), text.size());
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

Result<Socket> make_local_socket() {
  Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return system_failure("cannot make a Unix socket", errno);
  return socket;
}

}  // namespace

Result<Socket> register_locally(const SocketAddress& listener) {
  const RegisteredListener own{static_cast<int32_t>(getpid()), listener};
  const auto name = socket_name(own);
  WEIR_TRY(name.status());
  auto socket = make_local_socket();
  WEIR_TRY(socket.status());
  if (bind(socket->fd(), name->address(), name->size) != 0 || listen(socket->fd(), kWaitingReaders) != 0)
    return system_failure(fmt::format("cannot listen on a socket of the name {}", name_of(own)), errno);
  return socket;
}

Result<std::optional<Socket>> connect_locally(const RegisteredListener& entry) {
  const auto name = socket_name(entry);
  WEIR_TRY(name.status());
  auto socket = make_local_socket();
  WEIR_TRY(socket.status());
  if (connect(socket->fd(), name->address(), name->size) == 0)
    return std::optional<Socket>(std::move(*socket));
  if (would_block(errno)) return std::optional<Socket>();
  if (errno == ECONNREFUSED)
    return Status(Code::remote_error, fmt::format("process {} is not registered any more", entry.pid));
  return system_failure(fmt::format("cannot connect to process {}", entry.pid), errno);
}

std::vector<RegisteredListener> read_local_registry() {
  return read_local_registry(file_text("/proc/net/unix").value_or(""));
}

std::vector<RegisteredListener> read_local_registry(std::string_view text) {
  std::vector<RegisteredListener> entries;
  for (const std::string_view line : split_list(text, '\n')) {
    const size_t at = line.find(" @");
    if (at == std::string_view::npos || !listens(line.substr(0, at))) continue;
    if (auto entry = parse(line.substr(at + 2))) entries.push_back(*entry);
  }
  std::ranges::sort(entries, {}, &RegisteredListener::pid);
  return entries;
}

}  // namespace weir
