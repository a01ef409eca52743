// SPDX-License-Identifier: Apache-2.0
/// The hosts on which a communicator's ranks are, and the network between them: the same graph on all ranks.
///
/// On each host its lowest rank looks (see local_host.h); what it found travels with what ranks tell each
/// other anyway while they meet. Rank 0 adds the network, if there is more than one host.
#pragma once

#include <string>
#include <vector>

#include "src/base/bytes.h"
#include "src/base/types.h"
#include "src/core/call/rank_place.h"
#include "src/core/diagnosis/watchdog.h"
#include "src/core/placement/local_host.h"
#include "topology/model/graph.h"

namespace weir::core {

bool is_lowest_on_host(const std::vector<PeerAddress>& peers, Rank self);

struct JobTopology {
  topology::Graph graph;               ///< hosts that have ranks, and the switches of their network
  std::vector<topology::Index> hosts;  ///< by rank

  /// What rank `self` adds to the cluster; looks if it has to, which takes tens of milliseconds.
  static Bytes contribution(LocalHost& own, const std::vector<PeerAddress>& peers, Rank self);
  /// `contributions` by rank. Errors: what went wrong on another rank, which is named; files that contradict
  /// what was found.
  static Result<JobTopology> assemble(const std::vector<Bytes>& contributions,
                                      const std::vector<PeerAddress>& peers);

  /// Of all ranks.
  std::vector<RankPlace> places() const;
  /// The host of that rank as a file of NCCL or RCCL. Errors: system_error.
  Status dump(Rank rank, const std::string& file) const;
};

}  // namespace weir::core
