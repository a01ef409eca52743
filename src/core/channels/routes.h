// SPDX-License-Identifier: Apache-2.0
/// Which transport each pair of ranks uses: the first of the list that both sides can use.
///
/// Every rank publishes the addresses of all its transports, tests every peer, and publishes the results; a
/// pair uses a transport only if both ends can reach each other by it, so the two always agree. Ranks may
/// have different lists of transports: these are matched by name, and the list of the lower rank decides. At
/// first each rank tests a peer only up to the first transport that works; if that leaves a pair without one,
/// all test all, and tell each other why. Not thread-safe.
/// Tests: tests/core/routes_test.cc
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/core/bootstrap/bootstrap.h"
#include "transports/transport.h"

namespace weir::core {

struct Route {
  Transport* transport = nullptr;
  BytesView address;  ///< the peer's address for `transport`; valid as long as the routes
  Cost cost;
};

/// The settings of a rank that decide whom its transports reach: values by name.
using RouteSettings = std::map<std::string, std::string>;

class Routes {
 public:
  /// Collective over the bootstrap. Fails when a pair has no transport, with every transport's reason and
  /// those of `settings` that differ between the two.
  static Result<Routes> find(Bootstrap& bootstrap, const std::vector<std::unique_ptr<Transport>>& transports,
                             const RouteSettings& settings = {});

  const Route& to(Rank peer) const { return routes_[static_cast<size_t>(peer)]; }
  int size() const { return static_cast<int>(routes_.size()); }
  /// True if all routes' transports can map the peer's segment.
  bool all_map() const;
  /// True if every message rings the receiver's doorbell.
  bool all_ring() const;
  /// The sockets on which a rank can sleep that waits for peers: those of the first transport that has such;
  /// null: none has.
  const SocketEvents* events() const;
  /// True if whatever a peer sends is an event of those sockets.
  bool all_events(Rank self) const;
  /// "shm 3, tcp 4": transports with their number of peers (without this rank).
  std::string summary(Rank self) const;

 private:
  std::shared_ptr<const void> addresses_;  ///< owns the addresses; shared by the ranks of a process
  std::vector<Route> routes_;
};

}  // namespace weir::core
