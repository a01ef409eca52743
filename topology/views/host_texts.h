// SPDX-License-Identifier: Apache-2.0
/// What is written into the boxes of a host.
#pragma once

#include <vector>

#include "topology/views/host_parts.h"
#include "topology/views/pen.h"

namespace weir::topology {

using Children = std::vector<std::vector<Index>>;  ///< by node, see children_of()

/// "0c:00.0"; empty: not known.
std::string address_of(const Graph& graph, Index node);
/// Of a device, or of several that are drawn as one.
std::vector<Pen::Line> lines_of(const Graph& graph, const Children& children,
                                const std::vector<Index>& devices);
/// GB/s of all active ports of a NIC.
double speed_of(const Graph& graph, const Children& children, Index nic);
/// What a NIC's ports are and where their cables lead.
std::string network_facts(const Graph& graph, const Children& children, const std::vector<Index>& nics);

}  // namespace weir::topology
