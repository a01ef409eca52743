// SPDX-License-Identifier: Apache-2.0
/// TCP sockets and their addresses, IPv4 and IPv6.
///
/// Every descriptor is non-blocking, closed on exec, and sends without delay; nothing here raises SIGPIPE.
/// Waiting is done in poll, in slices (kPollSliceMs).
///
/// A Socket may be used by one thread that sends and one that receives. Errors are remote_error when the
/// other side closed, reset or refused, or let a deadline pass; invalid_usage when aborted or a port is in
/// use; system_error for the rest (no route, no descriptors). Sentences name the addresses.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/base/bytes.h"
#include "src/base/clock.h"
#include "weir/status.h"

namespace weir {

/// Who waits for others waits in slices of so long, so that an abort flag is noticed that soon.
inline constexpr int kPollSliceMs = 20;

/// An IP address and a port. Trivially copyable without padding, so it may travel as bytes.
class SocketAddress {
 public:
  SocketAddress() = default;
  /// "10.0.0.1:80", "[fe80::1%eth0]:80", "host:80". A name is looked up (may take seconds); its first address
  /// counts.
  static Result<SocketAddress> parse(std::string_view text);
  static SocketAddress loopback(int family, uint16_t port);
  /// All addresses of this host, any free port.
  static SocketAddress any(int family);
  /// Nothing, if `raw` is neither IPv4 nor IPv6.
  static std::optional<SocketAddress> from(const sockaddr* raw);

  bool valid() const { return family_ != 0; }
  int family() const { return family_; }
  uint16_t port() const { return port_; }
  void set_port(uint16_t port) { port_ = port; }
  bool is_loopback() const;
  /// The 4 or 16 bytes of the IP address.
  BytesView ip() const { return BytesView(ip_).first(family_ == AF_INET ? 4 : 16); }
  /// As parse reads it.
  std::string text() const;
  /// The same without the port.
  std::string host_text() const;
  /// Fills `raw`; returns the length for bind and connect.
  socklen_t to_raw(sockaddr_storage& raw) const;

  bool operator==(const SocketAddress&) const = default;

 private:
  uint16_t family_ = 0;
  uint16_t port_ = 0;
  uint32_t scope_ = 0;  ///< interface of a link-local IPv6 address
  std::array<std::byte, 16> ip_{};
};
static_assert(sizeof(SocketAddress) == 24 && std::is_trivially_copyable_v<SocketAddress>);

/// An owned descriptor.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }

  bool valid() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void close();

  /// with_user: with other processes of the user that listen there in the same way, too; a connection goes to
  /// one of them.
  enum class Sharing : uint8_t { none, with_user };
  /// Listens; port 0 means any free one. A port in use is invalid_usage, and the sentence names it.
  static Result<Socket> listen(const SocketAddress& address, Sharing sharing = Sharing::none);
  /// The next waiting connection, if there is one.
  Result<std::optional<Socket>> accept() const;

  /// Has a local address and port (0: any free one), and is not connected.
  static Result<Socket> bound(const SocketAddress& own);
  /// Begins to connect a socket that is not; connected() says when it is done. Never blocks.
  Status begin_connect(const SocketAddress& to) const;
  /// Makes a socket and begins to connect it, from an address of this host if one is given.
  static Result<Socket> start_connect(const SocketAddress& to,
                                      const std::optional<SocketAddress>& from = std::nullopt);
  /// False while connecting. Never blocks.
  Result<bool> connected() const;
  /// Connects, once.
  static Result<Socket> connect(const SocketAddress& to, const Deadline& deadline);

  Status send_all(BytesView bytes, const Deadline& deadline) const;
  Status recv_all(std::span<std::byte> into, const Deadline& deadline) const;
  /// Sends or receives what goes at once; 0: nothing now. An orderly end by the other side is an error.
  Result<size_t> try_send(BytesView bytes) const;
  Result<size_t> try_recv(std::span<std::byte> into) const;

  Result<SocketAddress> local_address() const;
  /// For sentences; "unknown" when there is none.
  std::string peer_text() const;

 private:
  Status bind_to(const SocketAddress& own) const;

  int fd_ = -1;
};

/// Waits until `events` (poll's) are there on fd. True: they are (or an error is); false: deadline over.
bool wait_for(int fd, short events, const Deadline& deadline);

}  // namespace weir
