// SPDX-License-Identifier: Apache-2.0

#include "src/net/socket.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "src/base/shortage.h"

namespace weir {
namespace {

constexpr int kBacklog = 4096;

/// The text of `error`, with advice where this host's configuration is the cause.
std::string error_text(int error) {
  std::string text = system_words(error);
  if (error == EADDRNOTAVAIL) {
    text +=
        " (either no source port is free, see net.ipv4.ip_local_port_range, or the address does not belong "
        "to this host)";
  }
  return text;
}

/// True for errors that the peer caused, in contrast to unreachable routes and local failures.
bool is_remote(int error) {
  return error == ECONNREFUSED || error == ECONNRESET || error == ECONNABORTED || error == EPIPE;
}

Status failure(std::string_view what, const std::string& peer, int error) {
  std::string words = fmt::format("cannot {} {}: {}", what, peer, error_text(error));
  if (is_shortage(error)) return Status::shortage(std::move(words));
  return Status(is_remote(error) ? Code::remote_error : Code::system_error, std::move(words));
}

Status interrupted(std::string_view what, const std::string& peer, const Deadline& deadline) {
  if (deadline.aborted())
    return Status(Code::invalid_usage, fmt::format("aborted while waiting to {} {}", what, peer));
  return Status(Code::remote_error, fmt::format("no answer in time while waiting to {} {}", what, peer));
}

void send_without_delay(int fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

Result<Socket> make_socket(int family) {
  Socket socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return system_failure("cannot make a socket", errno);
  return socket;
}

/// Makes a socket for an outgoing connection.
Result<Socket> make_client(int family) {
  auto socket = make_socket(family);
  WEIR_TRY(socket.status());
  send_without_delay(socket->fd());
  const int one = 1;  // keeps this connection's source port usable for listeners
  setsockopt(socket->fd(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  return socket;
}

}  // namespace

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

bool wait_for(int fd, short events, const Deadline& deadline) {
  for (;;) {
    pollfd entry{fd, events, 0};
    if (poll(&entry, 1, deadline.slice_ms(kPollSliceMs)) > 0) return true;
    if (deadline.over()) return false;
  }
}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

void Socket::close() {
  if (fd_ >= 0) ::close(release());
}

Result<Socket> Socket::listen(const SocketAddress& address, Sharing sharing) {
  auto socket = make_socket(address.family());
  WEIR_TRY(socket.status());
  const int one = 1;
  setsockopt(socket->fd(), SOL_SOCKET, SO_REUSEADDR, &one,
             sizeof one);  // allows binding a port that is in TIME_WAIT
  if (sharing == Sharing::with_user) setsockopt(socket->fd(), SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
  sockaddr_storage raw;
  const socklen_t size = address.to_raw(raw);
  if (bind(socket->fd(), reinterpret_cast<sockaddr*>(&raw), size) != 0 ||
      ::listen(socket->fd(), kBacklog) != 0) {
    const int error = errno;
    if (error == EADDRINUSE) {
      return Status(Code::invalid_usage,
                    fmt::format("port {} of {} is already used by another program; choose another port",
                                address.port(), address.text()));
    }
    return Status(error == EADDRNOTAVAIL ? Code::invalid_argument : Code::system_error,
                  fmt::format("cannot listen on {}: {}", address.text(), error_text(error)));
  }
  return socket;
}

Result<std::optional<Socket>> Socket::accept() const {
  const int fd = accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) {
    send_without_delay(fd);
    return std::optional<Socket>(Socket(fd));
  }
  if (would_block(errno) || errno == ECONNABORTED) return std::optional<Socket>();
  return system_failure("cannot accept a connection", errno);
}

Result<Socket> Socket::bound(const SocketAddress& own) {
  auto socket = make_client(own.family());
  WEIR_TRY(socket.status());
  WEIR_TRY(socket->bind_to(own));
  return socket;
}

Status Socket::bind_to(const SocketAddress& own) const {
  sockaddr_storage raw;
  const socklen_t size = own.to_raw(raw);
  if (bind(fd_, reinterpret_cast<sockaddr*>(&raw), size) == 0) return {};
  return failure("connect from", own.text(), errno);
}

Status Socket::begin_connect(const SocketAddress& to) const {
  sockaddr_storage raw;
  const socklen_t size = to.to_raw(raw);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&raw), size) != 0 && errno != EINPROGRESS && errno != EINTR)
    return failure("connect to", to.text(), errno);
  return {};
}

Result<Socket> Socket::start_connect(const SocketAddress& to, const std::optional<SocketAddress>& from) {
  auto socket = make_client(to.family());
  WEIR_TRY(socket.status());
  if (from) {
    // The kernel chooses the port at connect(): then one port can serve connections to several peers.
    const int one = 1;
    setsockopt(socket->fd(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    WEIR_TRY(socket->bind_to(*from));
  }
  WEIR_TRY(socket->begin_connect(to));
  return socket;
}

Result<bool> Socket::connected() const {
  pollfd entry{fd_, POLLOUT, 0};
  if (poll(&entry, 1, 0) <= 0) return false;
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return failure("connect to", "the other side", error);
  return true;
}

Result<Socket> Socket::connect(const SocketAddress& to, const Deadline& deadline) {
  auto socket = start_connect(to);
  WEIR_TRY(socket.status());
  if (!wait_for(socket->fd(), POLLOUT, deadline)) return interrupted("connect to", to.text(), deadline);
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket->fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return failure("connect to", to.text(), error);
  return socket;
}

Status Socket::send_all(BytesView bytes, const Deadline& deadline) const {
  while (!bytes.empty()) {
    auto sent = try_send(bytes);
    WEIR_TRY(sent.status());
    bytes = bytes.subspan(*sent);
    if (*sent == 0 && !wait_for(fd_, POLLOUT, deadline)) return interrupted("send to", peer_text(), deadline);
  }
  return {};
}

Result<size_t> Socket::try_send(BytesView bytes) const {
  if (bytes.empty()) return size_t{0};
  const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<size_t>(sent);
  if (would_block(errno)) return size_t{0};
  return failure("send to", peer_text(), errno);
}

Result<size_t> Socket::try_recv(std::span<std::byte> into) const {
  if (into.empty()) return size_t{0};
  const ssize_t received = recv(fd_, into.data(), into.size(), 0);
  if (received > 0) return static_cast<size_t>(received);
  if (received == 0) {
    return Status(Code::remote_error,
                  fmt::format("the connection to {} was closed by the other side", peer_text()));
  }
  if (would_block(errno)) return size_t{0};
  return failure("receive from", peer_text(), errno);
}

Result<SocketAddress> Socket::local_address() const {
  sockaddr_storage raw{};
  socklen_t size = sizeof raw;
  if (getsockname(fd_, reinterpret_cast<sockaddr*>(&raw), &size) == 0) {
    if (const auto address = SocketAddress::from(reinterpret_cast<sockaddr*>(&raw))) return *address;
  }
  return Status(Code::system_error, fmt::format("a socket has no IP address: {}", error_text(errno)));
}

Result<SocketAddress> Socket::peer_address() const {
  sockaddr_storage raw{};
  socklen_t size = sizeof raw;
  if (getpeername(fd_, reinterpret_cast<sockaddr*>(&raw), &size) == 0) {
    if (const auto address = SocketAddress::from(reinterpret_cast<sockaddr*>(&raw))) return *address;
  }
  return Status(Code::system_error, fmt::format("a socket has no peer: {}", error_text(errno)));
}

std::string Socket::peer_text() const {
  const auto address = peer_address();
  return address.ok() ? address->text() : "the other side";
}

}  // namespace weir
