// SPDX-License-Identifier: Apache-2.0
/// Selects what of a host is drawn as one box, and their hierarchy, before positions are computed.
/// Tests: tests/topology/views_test.cc
#pragma once

#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

/// A column (a NUMA node, or devices without one), a bridge with several branches, or a device.
struct Part {
  enum class Kind : uint8_t { column, bridge, device };
  Kind kind = Kind::column;
  std::vector<Index> members;  ///< devices that are drawn as one; empty for a column without NUMA node
  int parent = -1;             ///< index in HostParts::parts, smaller than its own
  std::vector<int> children;
  /// For each member the bridges between it and its parent without other branches, from the parent on. Equal
  /// numbers for all members.
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
  std::vector<SwitchGroup> nvswitches;    ///< includes NVSwitches outside any host
  std::vector<std::vector<Index>> rings;  ///< groups of two or more GPUs with direct links
  int64_t gpus = 0;
  int64_t nics = 0;
  int64_t left_out = 0;       ///< number of devices beyond the maximum that can be drawn
  int64_t empty_columns = 0;  ///< number of NUMA nodes without devices beyond that maximum
};

/// REQUIRES: `host` is a host.
HostParts parts_of(const Graph& graph, Index host);

}  // namespace weir::topology
