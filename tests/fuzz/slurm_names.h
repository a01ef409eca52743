// SPDX-License-Identifier: Apache-2.0
/// How large a topology of Slurm is.
#pragma once

#include <cstddef>

#include "topology/formats/slurm_topology.h"

inline size_t names_in(const weir::topology::SlurmTopology& topology) {
  size_t names = 0;
  for (const auto& one : topology.switches) names += 1 + one.nodes.size() + one.switches.size();
  for (const auto& one : topology.blocks) names += 1 + one.nodes.size();
  return names;
}
