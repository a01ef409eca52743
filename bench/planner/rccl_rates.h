// SPDX-License-Identifier: Apache-2.0
/// RCCL's link rates, so that its plans can be compared with ours on the same links.
#pragma once

#include "topology/model/graph.h"

namespace weir::planner_bench {

/// Sets the rates of RCCL 2.21.5: 24 GB/s per Infinity Fabric link (MI50, MI100), 36 (MI200) or 48 (MI300 and
/// later); PCIe at 12 GB/s for 16 lanes of the third generation, other generations and widths in proportion.
/// Links between processors keep their rates, which are the same (topology/model/rates.h). C2C links, which
/// RCCL does not know, are removed.
void use_rccl_rates(topology::Graph& graph);

}  // namespace weir::planner_bench
