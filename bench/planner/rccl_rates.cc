// SPDX-License-Identifier: Apache-2.0

#include "bench/planner/rccl_rates.h"

#include <string_view>
#include <vector>

#include "topology/model/rates.h"

namespace weir::planner_bench {
namespace {

using topology::GpuFacts;
using topology::Link;
using topology::LinkKind;

double xgmi_gb_per_s(std::string_view arch) {
  if (arch == "gfx90a") return 36;
  return arch.starts_with("gfx94") || arch.starts_with("gfx95") ? 48 : 24;
}

/// Our rates are data rates after line coding; RCCL's are three quarters of the raw bit rate of a lane.
double pcie_gb_per_s(double ours) {
  const double coded = topology::pcie_gb_per_s(8, 1);  // generations 3 to 5
  const double older = topology::pcie_gb_per_s(2.5, 1);
  const double lanes = ours / older;
  const bool of_older = lanes == static_cast<int>(lanes);
  return of_older ? ours * 0.1875 / older : ours * 0.75 / coded;
}

}  // namespace

void use_rccl_rates(topology::Graph& graph) {
  std::erase_if(graph.links(), [](const Link& link) { return link.kind == LinkKind::c2c; });
  for (Link& link : graph.links()) {
    if (link.kind == LinkKind::pci) link.gb_per_s = pcie_gb_per_s(link.gb_per_s);
    const GpuFacts* gpu = graph.get<GpuFacts>(link.from);
    if (link.kind == LinkKind::xgmi && gpu != nullptr) link.gb_per_s = link.count * xgmi_gb_per_s(gpu->arch);
  }
}

}  // namespace weir::planner_bench
