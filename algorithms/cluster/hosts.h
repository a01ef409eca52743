// SPDX-License-Identifier: Apache-2.0
/// Which nodes of a network are hosts, and how hosts hang together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"
#include "algorithms/network/network.h"
#include "topology/model/graph.h"
#include "weir/status.h"

namespace weir::algorithms {

/// By node: whether it is a switch between hosts. REQUIRES: network_of() made the network from `graph`.
std::vector<char> switches_between_hosts(const Network& network, const topology::Graph& graph);

/// What a host's uplink is attached to. Switches that are connected without going through a host are one
/// plane; a lane is what has the same place among the switches of its group in one plane.
struct Attachment {
  int32_t plane = 0;
  int32_t lane = 0;
  int64_t capacity = 0;  ///< the lesser of both directions
};

struct Cluster {
  std::vector<Host> hosts;                        ///< in the order in which groups follow each other
  std::vector<HostShape> shapes;                  ///< with network, uplinks and blocks
  std::vector<std::vector<Attachment>> attached;  ///< by shape and uplink
  std::vector<std::vector<int32_t>> levels;       ///< first host of each group; the widest groups first
  std::vector<std::vector<int64_t>> borders;      ///< capacity across each, the lesser of both directions
  std::vector<int64_t> first_block;               ///< by host, and how many blocks there are
  int32_t planes = 0;
};

/// Hosts are what stays together without the switches between hosts. Hosts that share a leaf are a group,
/// then those that leaves join one switch further up, and so on; groups, and hosts in them, come in the order
/// of their lowest ranks. `blocks[rank]`: 1 if the rank has one, else 0. Errors: invalid_argument where fewer
/// than two hosts have ranks, or one has no way in and out.
Result<Cluster> cluster_of(const Network& network, std::span<const char> between_hosts,
                           std::span<const int32_t> blocks);

}  // namespace weir::algorithms
