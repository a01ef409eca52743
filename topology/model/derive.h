// SPDX-License-Identifier: Apache-2.0
/// What follows from a graph: which GPUs and hosts belong together, and where bytes have to squeeze through.
#pragma once

#include <span>
#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

/// Devices that belong together, each list in the order of the graph.
using Groups = std::vector<std::vector<Index>>;

/// GPUs (and partitions) that reach each other over links faster than a NIC's: in one host, or in several
/// joined by NVLink. Every GPU is in one island.
Groups islands(const Graph& graph);

/// GPUs that reach each other over NVLink, Infinity Fabric or inside one package alone. A GPU without such
/// links is alone.
Groups meshes(const Graph& graph);

/// A switch of level 1 and what hangs on it.
struct Leaf {
  Index fabric_switch = kNone;
  std::vector<Index> hosts;
  std::vector<Index> ports;  ///< or NICs or hosts, where their ports are not known
  double down_gb_per_s = 0;  ///< of all cables to hosts, one direction
  double up_gb_per_s = 0;    ///< of all cables to switches of level 2 or leaves

  /// How much more may come from below than fits upwards; 1: nothing. 0: it has no way up, or speeds are not
  /// known.
  double oversubscription() const { return up_gb_per_s > 0 ? down_gb_per_s / up_gb_per_s : 0; }
};
std::vector<Leaf> leaves(const Graph& graph);
/// For each of `hosts` the number of its group: hosts that are attached to the same leaves, or to none, are
/// of one group. Numbered from 0 in the order in which they come.
std::vector<int> groups_by_leaf(const std::vector<Leaf>& leaves, std::span<const Index> hosts);

/// Ports with the same rail number where numbers are given; else those that are the first of their hosts, the
/// second, and so on (active ones, in the order of the graph).
Groups rails(const Graph& graph);

/// By host, in the order of Graph::all(host): hosts with equal numbers differ in nothing but names and serial
/// numbers, and their nodes correspond one to one in the order of the graph.
std::vector<int> host_classes(const Graph& graph);

/// By node: the host that holds it, or kNone.
std::vector<Index> hosts_of(const Graph& graph);

}  // namespace weir::topology
