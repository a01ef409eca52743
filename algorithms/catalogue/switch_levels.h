// SPDX-License-Identifier: Apache-2.0
/// The switches above hosts, level by level. Pure and thread-safe.
/// Tests: tests/algorithms/layout_test.cc
#pragma once

#include <map>
#include <set>

#include "topology/model/graph.h"

namespace weir::algorithms {

using Switches = std::set<topology::Index>;

/// The switches to which hosts are attached, and the switches above these.
class SwitchLevels {
 public:
  explicit SwitchLevels(const topology::Graph& graph);

  /// The switches reached by one step upwards from any of `below` (hosts or switches); empty: none.
  Switches above(const Switches& below) const;

 private:
  std::map<topology::Index, Switches> up_;
};

}  // namespace weir::algorithms
