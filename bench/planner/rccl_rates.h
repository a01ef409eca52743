// SPDX-License-Identifier: Apache-2.0
/// The link figures that RCCL plans with, so that its plans and ours can be compared on the same links.
#pragma once

#include "topology/model/graph.h"

namespace weir::planner_bench {

/// Sets what RCCL 2.21.5 assumes: per Infinity Fabric link 24 GB/s (MI50, MI100), 36 (MI200) or 48 (MI300 and
/// later), PCIe at 12 GB/s for 16 lanes of the third generation and accordingly for others. Links between
/// processors are what it assumes already (topology/model/rates.h). C2C links, which it does not know, go.
void use_rccl_rates(topology::Graph& graph);

}  // namespace weir::planner_bench
