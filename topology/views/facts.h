// SPDX-License-Identifier: Apache-2.0
/// Texts about a node or a link: short labels, and lines for the tooltip.
/// Tests: tests/topology/views_test.cc
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "topology/model/graph.h"
#include "topology/views/traffic.h"

namespace weir::topology {

/// All links between two boxes, each of which may represent several nodes.
struct Bundle {
  int a = -1;  ///< the smaller index
  int b = -1;
  LinkKind kind = LinkKind::pci;
  int64_t count = 0;
  double there = 0;       ///< GB/s from a to b
  double back = 0;        ///< GB/s from b to a
  double each = 0;        ///< GB/s of one of `count` links; 0: they differ, or are unknown
  double latency_us = 0;  ///< the longest latency
  double bytes = 0;       ///< bytes in both directions
  double busy = -1;       ///< load of its busiest link, relative to the busiest of all; -1: not shown

  double gb_per_s() const { return there < back ? there : back; }
};

/// The links between different boxes, summed; `place` is the box of each node, -1: not drawn. Ordered by a, b
/// and kind.
std::vector<Bundle> bundles(const Graph& graph, const std::vector<int>& place,
                            const LinkTraffic& traffic = {});

/// Whether the figure of a link is a real limit; links inside processors or packages have a nominal one.
bool is_limit(LinkKind kind, double gb_per_s);

/// Labels such as "GPU 3", "mlx5_0", "PCIe switch 05:00.0", "NUMA node 1", "leaf7".
std::string label_of(const Graph& graph, Index node);
/// The address without a domain of zeros: "0c:00.0".
std::string short_address(const std::string& address);
/// "AMD EPYC 9654" or "GenuineIntel x86_64"; empty: nothing is known.
std::string processor_of(const Graph& graph, Index numa);

/// The ports of a NIC, in order.
std::vector<Index> ports_of(const std::vector<std::vector<Index>>& children, const Graph& graph, Index nic);
/// The children of each node.
std::vector<std::vector<Index>> children_of(const Graph& graph);
/// GB/s of a port; 0: unknown.
double speed_of(const PortFacts& port);

/// Maximum number of lines in a list.
inline constexpr size_t kMostFactLines = 12;

/// Lines about a node; the first one is the label.
std::string facts_of(const Graph& graph, const std::vector<std::vector<Index>>& children, Index node);
/// Lines about several nodes that are drawn as one: `headline`, then a line for each, at most kMostFactLines.
std::string facts_of(const Graph& graph, const std::vector<Index>& nodes, const std::string& headline);
/// Lines about links: their ends, speed and traffic.
std::string facts_of(const Bundle& bundle, const std::string& a, const std::string& b);

}  // namespace weir::topology
