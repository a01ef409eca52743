// SPDX-License-Identifier: Apache-2.0
/// TCP sockets and their addresses, IPv4 and IPv6.
///
/// Every descriptor is non-blocking, closed on exec, and sends without delay (TCP_NODELAY); no function here
/// raises SIGPIPE. Waits use poll(), in slices of kPollSliceMs.
///
/// A Socket may be used by one thread that sends and one that receives. Errors are remote_error when the peer
/// closed, reset or refused the connection or did not answer before the deadline; invalid_usage when the wait
/// was aborted or a port is in use; system_error for all else (no route), which is a shortage where this
/// process has no descriptors or memory left. Messages name the addresses.
/// Tests: tests/net/socket_test.cc
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
#include "src/base/status.h"

namespace weir {

/// Length of one slice of a wait, in milliseconds: an abort flag is noticed within this time.
inline constexpr int kPollSliceMs = 20;

/// Whether an errno means that a call on a socket should be repeated later.
bool would_block(int error);

/// An IP address and a port. Trivially copyable without padding, so it may travel as bytes.
class SocketAddress {
 public:
  SocketAddress() = default;
  /// Parses "10.0.0.1:80", "[fe80::1%eth0]:80" or "host:80". A host name is looked up (may take seconds); its
  /// first address is used.
  static Result<SocketAddress> parse(std::string_view text);
  /// The same for an address that another process names: a host name is not looked up, but refused.
  static Result<SocketAddress> parse_numeric(std::string_view text);
  static SocketAddress loopback(int family, uint16_t port);
  /// The wildcard address (all addresses of this host) with port 0 (any free port).
  static SocketAddress any(int family);
  /// Converts `raw`; nullopt if it is neither IPv4 nor IPv6.
  static std::optional<SocketAddress> from(const sockaddr* raw);

  /// False for one that was default-constructed, or read from bytes of another process and is none.
  bool valid() const { return family_ == AF_INET || family_ == AF_INET6; }
  int family() const { return family_; }
  uint16_t port() const { return port_; }
  void set_port(uint16_t port) { port_ = port; }
  bool is_loopback() const;
  /// The 4 or 16 bytes of the IP address.
  BytesView ip() const { return BytesView(ip_).first(family_ == AF_INET ? 4 : 16); }
  /// Address and port in the notation of parse().
  std::string text() const;
  /// The address in the notation of parse(), without the port.
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

/// An owned socket descriptor.
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

  /// with_user: other processes of the same user may listen on the same port in this mode; each connection
  /// goes to one of them.
  enum class Sharing : uint8_t { none, with_user };
  /// Listens; port 0 means any free port. A port in use gives invalid_usage, and the message names it.
  static Result<Socket> listen(const SocketAddress& address, Sharing sharing = Sharing::none);
  /// Accepts the next waiting connection; nullopt if there is none.
  Result<std::optional<Socket>> accept() const;

  /// Makes an unconnected socket with a local address and port (0: any free port).
  static Result<Socket> bound(const SocketAddress& own);
  /// Begins to connect an unconnected socket; connected() tells when that is done. Never blocks.
  Status begin_connect(const SocketAddress& to) const;
  /// Makes a socket and begins to connect it, from an address of this host if one is given.
  static Result<Socket> start_connect(const SocketAddress& to,
                                      const std::optional<SocketAddress>& from = std::nullopt);
  /// Returns false while the socket is still connecting. Never blocks.
  Result<bool> connected() const;
  /// Connects and waits for the result; a refused connection is not retried.
  static Result<Socket> connect(const SocketAddress& to, const Deadline& deadline);

  Status send_all(BytesView bytes, const Deadline& deadline) const;
  /// Sends or receives as many bytes as possible without blocking and returns their number; 0: none now. A
  /// connection that the peer has closed is an error.
  Result<size_t> try_send(BytesView bytes) const;
  Result<size_t> try_recv(std::span<std::byte> into) const;

  Result<SocketAddress> local_address() const;
  Result<SocketAddress> peer_address() const;
  /// The peer's address for messages; "the other side" when it is not known.
  std::string peer_text() const;

 private:
  Status bind_to(const SocketAddress& own) const;

  int fd_ = -1;
};

/// Waits until one of `events` (as of poll()) or an error occurs on `fd`; returns false if the deadline
/// passed before.
bool wait_for(int fd, short events, const Deadline& deadline);

}  // namespace weir
