// SPDX-License-Identifier: Apache-2.0
/// A compact plan for an all-to-all: the paths inside the hosts of each shape, and the gates by which data
/// leaves and enters.
///
/// What a rank sends to a rank of another host enters there by a gate of the receiver's choice, and leaves by
/// a gate of the same plane of the sender's choice. Between the switches of both gates it takes the paths of
/// `ways`. Ranks of the network without a block (HostShape::blocks) are relays: they only forward, and may be
/// gates. Its size is that of the network, the square of the ranks of a host, and one entry per pair of
/// switches; never one per pair of ranks.
///
/// Values: no I/O, no threads.
/// Tests: tests/algorithms/exchange_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"

namespace weir::algorithms {

/// A path between a rank and a gate of its host. Other ranks on it forward.
struct Passage {
  int32_t gate = 0;            ///< index of the shape's gate
  int64_t parts = 1;           ///< number of parts that take it
  std::vector<int32_t> edges;  ///< from the rank to that of the gate, or back; empty if it is the same
};

/// Between two ranks of a host; several share the data equally.
using InnerPaths = std::vector<std::vector<int32_t>>;

struct ExchangeShape {
  HostShape host;                                          ///< its network, uplinks and gates
  std::vector<std::vector<std::vector<Passage>>> exits;    ///< index: rank, plane
  std::vector<std::vector<std::vector<Passage>>> entries;  ///< index: rank, plane
  std::vector<std::vector<InnerPaths>> inner;              ///< index: sender, receiver
};

struct ExchangePlan {
  int64_t exit_parts = 1;   ///< of the exits of a rank in a plane together
  int64_t entry_parts = 1;  ///< of the entries of a rank in all planes together
  int32_t planes = 0;
  std::vector<ExchangeShape> shapes;
  std::vector<Host> hosts;
  std::vector<Way> ways;  ///< sorted by (from, to): all pairs of different switches that need paths
};

}  // namespace weir::algorithms
