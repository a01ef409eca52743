// SPDX-License-Identifier: Apache-2.0
/// A machine or a cluster as bounds, packings and the simulator see it: a directed graph whose edges carry so
/// many bytes per second.
///
/// Ranks sit on some of the nodes and may forward what they receive; the other nodes are switches (of
/// NVLink, PCIe, a network, or what joins a NIC to its host), which forward only. Capacities are whole
/// numbers of one unit, so that bounds and plans can be compared exactly.
///
/// Values: no I/O, no threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/model/graph.h"
#include "weir/status.h"

namespace weir::algorithms {

/// GB/s of one unit of capacity: figures of topologies are kept to six digits after the point.
inline constexpr double kCapacityUnit = 1e-6;

struct Edge {
  int32_t from = 0;
  int32_t to = 0;
  int64_t capacity = 0;  ///< units of kCapacityUnit; above 0
  int32_t link = -1;     ///< place in Graph::links(); -1: not made from a topology
  bool operator==(const Edge&) const = default;
};

struct Network {
  int32_t nodes = 0;
  std::vector<int32_t> rank_nodes;  ///< by rank: its node; different for each rank
  std::vector<Edge> edges;          ///< at most one from a node to another
  /// Switches that copy and reduce what passes through them (NVLS, SHARP). Empty: none.
  std::vector<char> multicast;
  std::vector<topology::Index> origin;  ///< by node: in the topology; empty: not made from one

  int ranks() const { return static_cast<int>(rank_nodes.size()); }
  bool operator==(const Network&) const = default;
};

/// Success where ranks sit on different nodes that exist, and edges join different nodes that exist and have
/// capacity; else invalid_argument with the first thing that is wrong.
Status check(const Network& network);

/// The network between devices of a topology, `devices[r]` being that of rank r: GPUs, partitions, or NUMA
/// nodes and hosts for ranks in host memory. What no path between two ranks uses is left out; parallel links
/// are one edge. Errors: invalid_argument where a device is named twice, is no device, cannot reach another
/// one, or where a link on the way has no known bandwidth; the sentence names it.
Result<Network> network_of(const topology::Graph& graph, std::span<const topology::Index> devices);

}  // namespace weir::algorithms
