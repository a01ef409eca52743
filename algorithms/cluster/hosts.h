// SPDX-License-Identifier: Apache-2.0
/// Determines which nodes of a network form hosts, and how hosts are connected.
/// Tests: tests/algorithms/cluster_test.cc, tests/algorithms/planner_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/cluster/cluster_plan.h"
#include "algorithms/network/network.h"
#include "src/base/status.h"
#include "topology/model/graph.h"

namespace weir::algorithms {

/// For each node whether it is a switch between hosts. REQUIRES: network_of() made the network from `graph`.
std::vector<char> switches_between_hosts(const Network& network, const topology::Graph& graph);

/// The plane and lane of a host's uplink. Switches that are connected without passing a host form one plane;
/// a lane is a position among the switches of a group in one plane.
struct Attachment {
  int32_t plane = 0;
  int32_t lane = 0;
  int64_t capacity = 0;  ///< the lesser of both directions
};

struct Cluster {
  std::vector<Host> hosts;                        ///< sorted by groups
  std::vector<HostShape> shapes;                  ///< only network, uplinks and blocks are set
  std::vector<std::vector<Attachment>> attached;  ///< index: shape and uplink
  std::vector<std::vector<int32_t>> levels;       ///< first host of each group; the widest groups first
  std::vector<std::vector<int64_t>> borders;      ///< capacity of each border, the lesser of both directions
  std::vector<int64_t> first_block;               ///< index: host, plus the number of blocks at the end
  int32_t planes = 0;
};

/// Hosts are the parts that stay connected without the switches between hosts. Hosts that share a leaf form a
/// group, then those whose leaves are connected by one switch further up, and so on; groups, and hosts in
/// them, are in the order of their lowest ranks. `blocks[rank]`: 1 if the rank has one, else 0. Errors:
/// invalid_argument if fewer than two hosts have ranks, or if a host has no links in and out.
Result<Cluster> cluster_of(const Network& network, std::span<const char> between_hosts,
                           std::span<const int32_t> blocks);

}  // namespace weir::algorithms
