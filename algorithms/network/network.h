// SPDX-License-Identifier: Apache-2.0
/// A machine or a cluster as bounds, packings and the simulator see it: a directed graph whose edges have
/// capacities in bytes per second.
///
/// Ranks are at some of the nodes and may forward what they receive; the other nodes are switches (of NVLink,
/// PCIe, a network, or the connection of a NIC with its host), which only forward. Capacities are whole
/// numbers of one unit, so that bounds and plans can be compared exactly.
///
/// Values: no I/O, no threads.
/// Tests: tests/algorithms/network_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "src/base/status.h"
#include "topology/model/graph.h"

namespace weir::algorithms {

/// One unit of capacity in GB/s: topology figures are kept to six decimal places.
inline constexpr double kCapacityUnit = 1e-6;

struct Edge {
  int32_t from = 0;
  int32_t to = 0;
  int64_t capacity = 0;  ///< number of kCapacityUnit; above 0
  int32_t link = -1;     ///< index in Graph::links(); -1: not made from a topology
  bool operator==(const Edge&) const = default;
};

struct Network {
  int32_t nodes = 0;
  std::vector<int32_t> rank_nodes;  ///< index: rank; its node, different for each rank
  std::vector<Edge> edges;          ///< at most one from one node to another
  /// For each node whether it is a switch that copies and reduces (NVLS, SHARP). Empty: none.
  std::vector<char> multicast;
  std::vector<topology::Index> origin;  ///< index: node; node of the topology; empty: not made from one

  /// NVSwitches of the topology that are part of a node: those with equal links are one.
  std::vector<std::pair<topology::Index, int32_t>> others = {};

  /// Index: edge; the kind of its link. Empty: not made from a topology.
  std::vector<topology::LinkKind> link_kinds = {};

  /// Index: edge; seconds, for simulations (link_latencies.h). Empty: none.
  std::vector<double> latencies = {};

  int ranks() const { return static_cast<int>(rank_nodes.size()); }
  bool operator==(const Network&) const = default;
};

/// Success if ranks are at different existing nodes, and edges connect different existing nodes and have
/// capacity; else invalid_argument with the first problem.
Status check(const Network& network);

/// The links between two GPUs that a network has: the way that a driver gives them, or all there are.
enum class Ways : uint8_t { of_driver, all };

/// The network between devices of a topology; `devices[r]` is that of rank r: GPUs, partitions, or NUMA nodes
/// and hosts for ranks in host memory. Without what no path between ranks uses, and with Ways::of_driver what
/// no move uses: all but NVLink or xGMI if these connect all ranks; far NICs (used_nics.h); and where these
/// connect the GPUs of a host, PCIe that leads to no nearest NIC (near_links.h). Parallel links are one edge.
/// Errors: invalid_argument if a device occurs twice, is not a device, cannot reach another one, or if a link
/// on the way has no known bandwidth; the sentence names it.
Result<Network> network_of(const topology::Graph& graph, std::span<const topology::Index> devices,
                           Ways ways = Ways::of_driver);

}  // namespace weir::algorithms
