// SPDX-License-Identifier: Apache-2.0
/// What a picture says about a node or a link: short labels, and lines for whoever points at it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "topology/model/graph.h"
#include "topology/views/traffic.h"

namespace weir::topology {

/// All links between two things that are drawn, each of which may stand for several nodes.
struct Bundle {
  int a = -1;  ///< the smaller one
  int b = -1;
  LinkKind kind = LinkKind::pci;
  int64_t count = 0;
  double there = 0;       ///< GB/s from a to b
  double back = 0;        ///< GB/s from b to a
  double each = 0;        ///< GB/s of one of `count`; 0: they differ, or are not known
  double latency_us = 0;  ///< the longest
  double bytes = 0;       ///< both ways
  double busy = -1;       ///< of its links the busiest, as a share of the busiest of all; -1: not to be shown

  double gb_per_s() const { return there < back ? there : back; }
};

/// The links between different places, summed; `place` says for each node where it is drawn, -1: nowhere.
/// Ordered by a, b and kind.
std::vector<Bundle> bundles(const Graph& graph, const std::vector<int>& place, const Traffic& traffic = {});

/// A device inside processors or packages "never limits": its figure is no speed.
bool is_limit(LinkKind kind, double gb_per_s);

/// "GPU 3", "mlx5_0", "PCIe bridge 05:00.0", "NUMA node 1", "leaf7".
std::string label_of(const Graph& graph, Index node);
/// "0c:00.0": without a domain of zeros.
std::string short_address(const std::string& address);
/// "AMD EPYC 9654" or "GenuineIntel x86_64"; empty: nothing is known.
std::string processor_of(const Graph& graph, Index numa);

/// The ports of a NIC, in order.
std::vector<Index> ports_of(const std::vector<std::vector<Index>>& children, const Graph& graph, Index nic);
/// By node: what it holds directly.
std::vector<std::vector<Index>> children_of(const Graph& graph);
/// GB/s of a port; 0: not known.
double speed_of(const PortFacts& port);

/// Of what would take more lines only so many are listed.
inline constexpr size_t kMostFactLines = 12;

/// Lines; the first one is the label.
std::string facts_of(const Graph& graph, const std::vector<std::vector<Index>>& children, Index node);
/// Of several that are drawn as one: `headline`, then a line for each, at most kMostFactLines.
std::string facts_of(const Graph& graph, const std::vector<Index>& nodes, const std::string& headline);
/// Of links: which they are, how fast, and what they carry.
std::string facts_of(const Bundle& bundle, const std::string& a, const std::string& b);

}  // namespace weir::topology
