// SPDX-License-Identifier: Apache-2.0
/// The texts in the boxes of a host.
/// Tests: tests/topology/views_test.cc
#pragma once

#include <vector>

#include "topology/views/host_parts.h"
#include "topology/views/pen.h"

namespace weir::topology {

using Children = std::vector<std::vector<Index>>;  ///< index: node, see children_of()

/// The short address, such as "0c:00.0"; empty: unknown.
std::string address_of(const Graph& graph, Index node);
/// Lines for a device, or for several that are drawn as one.
std::vector<Pen::Line> lines_of(const Graph& graph, const Children& children,
                                const std::vector<Index>& devices);
/// Sum of all active ports of a NIC, in GB/s.
double speed_of(const Graph& graph, const Children& children, Index nic);
/// The ports of a NIC, and where their cables lead.
std::string network_facts(const Graph& graph, const Children& children, const std::vector<Index>& nics);

}  // namespace weir::topology
