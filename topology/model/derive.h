// SPDX-License-Identifier: Apache-2.0
/// Properties derived from a graph: which GPUs and hosts belong together, and the bottlenecks between them.
/// Tests: tests/topology/model_test.cc
#pragma once

#include <span>
#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

/// Devices that belong together; each list is in the order of the graph.
using Groups = std::vector<std::vector<Index>>;

/// GPUs (and partitions) that are connected by links faster than a NIC's: in one host, or in several
/// connected by NVLink. Every GPU is in one island.
Groups islands(const Graph& graph);

/// GPUs that are connected by NVLink, Infinity Fabric or inside one package alone. A GPU without such links
/// is alone.
Groups meshes(const Graph& graph);

/// A switch of level 1 and the ports attached to it.
struct Leaf {
  Index fabric_switch = kNone;
  std::vector<Index> hosts;
  std::vector<Index> ports;  ///< or NICs or hosts, if their ports are unknown
  double down_gb_per_s = 0;  ///< sum of all cables to hosts, in one direction
  double up_gb_per_s = 0;    ///< sum of all cables to switches of level 2 or to leaves, in one direction

  /// Bandwidth to hosts divided by bandwidth upwards, at least 1; 0: there is no way up, or speeds are
  /// unknown.
  double oversubscription() const { return up_gb_per_s > 0 ? down_gb_per_s / up_gb_per_s : 0; }
};
std::vector<Leaf> leaves(const Graph& graph);
/// The number of the group of each of `hosts`: hosts that are attached to the same leaves, or to none, form
/// one group. Groups are numbered from 0 in the order of their first hosts.
std::vector<int> groups_by_leaf(const std::vector<Leaf>& leaves, std::span<const Index> hosts);

/// Ports with the same rail number if numbers are given; otherwise the first ports of all hosts, the second
/// ones, and so on (active ones, in the order of the graph).
Groups rails(const Graph& graph);

/// The class of each host, in the order of Graph::all(host): hosts of one class differ only in names and
/// serial numbers, and their nodes correspond one to one in the order of the graph.
std::vector<int> host_classes(const Graph& graph);

/// For each node the host that contains it, or kNone.
std::vector<Index> hosts_of(const Graph& graph);

}  // namespace weir::topology
