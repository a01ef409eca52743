// SPDX-License-Identifier: Apache-2.0
/// Cables that carry nothing, because the port at one of their ends has lost its link.
/// Tests: tests/topology/model_test.cc
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

/// Names of ports or of NICs with one port; key: identity of their host.
using PortNames = std::map<uint64_t, std::set<std::string>>;

/// Of the hosts in `without_link`, the named ports become inactive and all others active. Removes the cables
/// of all inactive ports, and returns descriptions of those that had one, in the order of the graph.
std::vector<std::string> remove_lost_cables(Graph& graph, const PortNames& without_link);

}  // namespace weir::topology
