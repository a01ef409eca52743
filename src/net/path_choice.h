// SPDX-License-Identifier: Apache-2.0
/// Which of several equal paths through a fabric a connection takes.
///
/// Routers spread connections over equal paths by a hash of addresses and ports (ECMP), so a few large ones
/// may meet on one spine while others are idle. A PathChoice connects from a port whose path this process
/// uses least. What path a port leads to is found out by a SYN that may pass one router only: the second one
/// sends it back with its own address (ICMP, time exceeded), and a later SYN from that port goes the same
/// way, as it hashes alike (Augustin et al., "Avoiding traceroute anomalies with Paris traceroute", IMC
/// 2006). Peers that are nearer are just connected to. Where routers say nothing, a connection takes the path
/// that it happens to get.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/net/socket.h"
#include "weir/status.h"

namespace weir {

/// What a process knows of the paths to its peers. Thread-safe.
class PathUses {
 public:
  /// A port that is not in use, and the router that connections from it pass.
  struct Port {
    uint16_t number = 0;
    SocketAddress router;
  };

  /// Two addresses that connections lead from and to; the first may be left open.
  struct Ends {
    std::optional<SocketAddress> from;
    SocketAddress to;
  };

  /// Adds what probes found between two ends.
  void learn(const Ends& ends, std::span<const Port> ports);
  /// A port whose router is the one that is used least, of all that are known there, or (`any`) of those
  /// that a port leads to; among equals the `first`-th, and so on in turn. Nothing where no port leads
  /// there. Counts the use.
  std::optional<Port> take(const Ends& ends, uint32_t first, bool any);
  /// Probes there remained without an answer: they are not worth trying again.
  void give_up(const Ends& ends);
  bool given_up(const Ends& ends) const;

 private:
  struct Way {
    std::vector<SocketAddress> routers;  // ascending
    std::vector<Port> ports;
    bool silent = false;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Way> ways_;       // by the addresses of the ends
  std::map<std::string, uint64_t> uses_;  // by address of the router
};

/// One connection, until it is under way. Used by one thread.
class PathChoice {
 public:
  /// Connects from an address of this host if one is given. `first`: see PathUses::take().
  PathChoice(PathUses& uses, PathUses::Ends ends, uint32_t first)
      : uses_(uses), ends_(std::move(ends)), first_(first) {}

  /// The connection, once it is chosen: as of Socket::start_connect(). Never blocks; to be called until it
  /// gives one. Errors: of start_connect().
  Result<std::optional<Socket>> advance();
  /// The router that the connection passes, if that is known.
  const std::optional<SocketAddress>& router() const { return router_; }

 private:
  struct Probe {
    Socket socket;
    uint16_t port = 0;
  };

  Status probe(int count);
  Result<std::optional<Socket>> look();
  Result<std::optional<Socket>> connect();
  SocketAddress own() const { return ends_.from ? *ends_.from : SocketAddress::any(ends_.to.family()); }

  PathUses& uses_;
  const PathUses::Ends ends_;
  const uint32_t first_;
  std::vector<Probe> probes_;
  std::vector<PathUses::Port> found_;
  std::optional<SocketAddress> router_;
  int64_t begun_ns_ = 0;
  int64_t until_ns_ = 0;  // answers are waited for
  int rounds_ = 0;
};

}  // namespace weir
