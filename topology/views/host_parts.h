// SPDX-License-Identifier: Apache-2.0
/// What of a host is drawn as one box, and what hangs on what, before any of it has a place.
#pragma once

#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

/// A column (a NUMA node, or what hangs on none), a bridge with several branches, or a device.
struct Part {
  enum class Kind : uint8_t { column, bridge, device };
  Kind kind = Kind::column;
  std::vector<Index> members;  ///< devices that are drawn as one; a column of no NUMA node has none
  int parent = -1;             ///< place in HostParts::parts, before this one
  std::vector<int> children;
  /// By member: the bridges between it and its parent that lead nowhere else, from the parent on. Equally
  /// many for all members.
  std::vector<std::vector<Index>> chains;
};

/// NVSwitches with the same GPUs.
struct SwitchGroup {
  std::vector<Index> switches;
  std::vector<Index> gpus;
};

struct HostParts {
  std::vector<Part> parts;  ///< columns first, parents before children
  std::vector<int> columns;
  std::vector<SwitchGroup> nvswitches;    ///< also those that hang in no host
  std::vector<std::vector<Index>> rings;  ///< GPUs joined by links from GPU to GPU, two or more
  int64_t gpus = 0;
  int64_t nics = 0;
  int64_t left_out = 0;       ///< devices beyond what can be drawn
  int64_t empty_columns = 0;  ///< NUMA nodes without devices beyond what can be drawn
};

/// REQUIRES: `host` is a host.
HostParts parts_of(const Graph& graph, Index host);

}  // namespace weir::topology
