// SPDX-License-Identifier: Apache-2.0
/// The hosts of a communicator's ranks, and the network between them: the same graph on all ranks.
///
/// The lowest rank of each host detects its topology (local_host.h) and sends it with the PeerInfo exchange.
/// If there is more than one host, rank 0 adds the network, and each lowest rank names the ports that have no
/// link now: their cables are left out.
/// Tests: tests/library/topology_test.cc, tests/netlab/described_test.py
#pragma once

#include <span>
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
  std::vector<topology::Index> hosts;  ///< host of each rank, a node of `graph`
  std::vector<std::string> lost;       ///< descriptions of the ports that have cables but no link

  /// The part of the topology that rank `self` sends; detects it if necessary, which takes tens of
  /// milliseconds.
  static Bytes contribution(LocalHost& own, const std::vector<PeerAddress>& peers, Rank self);
  /// Merges the contributions of all ranks, indexed by rank. Errors: those of another rank, which is named;
  /// files that contradict the detected topology.
  static Result<JobTopology> assemble(const std::vector<Bytes>& contributions,
                                      const std::vector<PeerAddress>& peers);

  /// The GPU of each rank, a node of `graph`; `addresses[r]` is the PCI address of rank r's. Empty if a GPU
  /// is not in the topology, or if two ranks share one.
  std::vector<topology::Index> gpus_of(std::span<const std::string> addresses) const;
  /// The places of all ranks.
  std::vector<RankPlace> places() const;
  /// Writes the host of a rank as a topology file of NCCL or RCCL. Errors: system_error.
  Status dump(Rank rank, const std::string& file) const;
};

}  // namespace weir::core
