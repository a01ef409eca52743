// SPDX-License-Identifier: Apache-2.0
/// Chooses which of several equal-cost paths through a fabric a connection takes.
///
/// Routers spread connections over equal-cost paths by a hash of addresses and ports (ECMP), so a few large
/// connections may share one spine switch while others are idle. A PathChoice connects from a local port
/// whose path this process uses least. It finds the path of a port by a SYN whose TTL lets it pass only one
/// router: the second router reports its own address (ICMP time exceeded). A later SYN from the same port
/// takes the same path, because its hash is equal (Augustin et al., "Avoiding traceroute anomalies with Paris
/// traceroute", IMC 2006). Nearer peers are connected to without a choice. Where routers do not answer, the
/// connection takes whatever path its hash gives.
/// Tests: tests/net/path_choice_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/base/status.h"
#include "src/net/socket.h"

namespace weir {

/// The known paths from a process to its peers, and how often each is used. Thread-safe.
class PathUses {
 public:
  /// An unused local port, and the router that connections from it pass.
  struct Port {
    uint16_t number = 0;
    SocketAddress router;
  };

  /// The two addresses of a connection; `from` may be left open.
  struct Ends {
    std::optional<SocketAddress> from;
    SocketAddress to;
  };

  /// Adds the ports and routers that probes found between two ends.
  void learn(const Ends& ends, std::span<const Port> ports);
  /// Takes a port to the least used router between `ends`: of all known routers, or (`any`) of those that an
  /// unused port leads to. Among equally used routers the search starts at the `first`-th. nullopt where no
  /// port leads to that router. Counts the use.
  std::optional<Port> take(const Ends& ends, uint32_t first, bool any);
  /// Records that probes between `ends` had no answer, so that they are not repeated.
  void give_up(const Ends& ends);
  bool given_up(const Ends& ends) const;

 private:
  struct Way {
    std::vector<SocketAddress> routers;  // in ascending order
    std::vector<Port> ports;
    bool silent = false;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Way> ways_;       // keyed by the addresses of the ends
  std::map<std::string, uint64_t> uses_;  // keyed by the router's address
};

/// Starts one connection. Used by one thread.
class PathChoice {
 public:
  /// Connects from an address of this host if one is given. `first`: see PathUses::take().
  PathChoice(PathUses& uses, PathUses::Ends ends, uint32_t first)
      : uses_(uses), ends_(std::move(ends)), first_(first) {}

  /// The connection, once its path is chosen, in the state of one from Socket::start_connect(); nullopt
  /// before. Never blocks; call it until it gives a connection. Errors: those of start_connect().
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
  int64_t until_ns_ = 0;  // end of the wait for answers
  int rounds_ = 0;
};

}  // namespace weir
