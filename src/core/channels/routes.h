// SPDX-License-Identifier: Apache-2.0
/// Which transport each pair of ranks uses: the first of the list that both sides can use.
///
/// Every rank publishes the transport addresses of all its transports, tries every peer, and publishes what
/// it found; a pair uses a transport only if both ends said yes, so the two always agree. At first each tries
/// a peer only up to the first transport that works; if that leaves a pair without one, all try all. Not
/// thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/core/bootstrap/bootstrap.h"
#include "transports/transport.h"

namespace weir::core {

struct Route {
  Transport* transport = nullptr;
  BytesView address;  ///< the peer's, for `transport`; lasts as long as the routes
  Cost cost;
};

class Routes {
 public:
  /// Collective over the bootstrap. Fails when a pair has no transport, with every transport's reason.
  static Result<Routes> find(Bootstrap& bootstrap, const std::vector<std::unique_ptr<Transport>>& transports);

  const Route& to(Rank peer) const { return routes_[static_cast<size_t>(peer)]; }
  int size() const { return static_cast<int>(routes_.size()); }
  /// True if all routes' transports can map the peer's segment.
  bool all_map() const;
  /// True if every message rings the receiver's doorbell.
  bool all_ring() const;
  /// "shm 3, tcp 4": transports and how many peers use each (this rank left out).
  std::string summary(Rank self) const;

 private:
  std::shared_ptr<const std::vector<std::vector<Bytes>>>
      addresses_;  ///< of all ranks; one for those of a process
  std::vector<Route> routes_;
};

}  // namespace weir::core
