// SPDX-License-Identifier: Apache-2.0
/// What the kernel knows of TCP connections (TCP_INFO): whether the data that were sent are acknowledged.
///
/// It shows that a stall is the fault of the network and not of a rank. ConnectionSet is thread-safe.
/// Tests: tests/net/connection_state_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "src/net/connection_use.h"
#include "src/net/socket.h"

namespace weir {

struct ConnectionState {
  SocketAddress from;
  SocketAddress to;
  uint64_t unacknowledged_bytes =
      0;                       ///< bytes in the kernel's queue that the other host has not acknowledged
  uint32_t attempts = 0;       ///< retransmissions or probes since the last acknowledgement
  uint64_t retransmitted = 0;  ///< segments retransmitted since the connection was made
  uint32_t quiet_ms = 0;       ///< time since the last acknowledgement
  uint32_t round_trip_us = 0;  ///< smoothed round-trip time of what was acknowledged
  uint32_t segment_bytes = 0;  ///< largest payload of a segment
  uint32_t path_mtu = 0;       ///< largest packet that the kernel believes the path carries

  bool given_up = false;  ///< the kernel has closed it, after attempts in vain; the bytes are gone

  /// Whether data are not acknowledged although the kernel has sent them again several times. False where
  /// only the receiver is slow: it acknowledges the kernel's probes.
  bool lost() const;
  /// One sentence without a full stop. Only of a connection whose data are lost() it says that the network
  /// does not deliver, and only of full packets how long those are that vanish.
  std::string describe() const;
};

/// The state of a connected TCP socket; nullopt: the kernel does not tell it. A few system calls.
std::optional<ConnectionState> connection_state(int socket);

/// Connections that are watched while they are open.
class ConnectionSet {
 public:
  /// What a connection has carried.
  struct PeerUse {
    int peer;             ///< as in watch()
    SocketAddress from;   ///< of this end
    uint64_t connection;  ///< a number that no other connection of the set has, ever
    ConnectionUse use;
  };

  /// `peer`: the rank at the other end; -1: none. REQUIRES: forget() is called before the socket is closed.
  void watch(const Socket& socket, int peer = -1);
  /// Has no effect if the socket is not watched.
  void forget(const Socket& socket);
  /// Segments that the kernel has retransmitted on all connections, closed ones included.
  uint64_t retransmitted() const;
  /// Connections with data that the other host has not acknowledged, also those that the kernel gave up,
  /// those with most attempts first.
  std::vector<ConnectionState> unacknowledged() const;
  /// What each open connection has carried. A system call for each.
  std::vector<PeerUse> use() const;

 private:
  mutable std::mutex mutex_;
  struct Open {
    int peer;
    uint64_t number;
    SocketAddress from;
    SocketAddress to;  ///< invalid: it was not connected when it was watched
  };
  std::map<int, Open> open_;  ///< by descriptor
  uint64_t watched_ = 0;      ///< connections so far
  uint64_t closed_ = 0;       ///< segments of connections that were closed
};

}  // namespace weir
