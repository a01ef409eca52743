// SPDX-License-Identifier: Apache-2.0

#include "src/cli/narrow_nics.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/base/text.h"

namespace weir::cli {
namespace {

using topology::Index;
using topology::LinkKind;
using topology::NodeKind;

/// Rates of a NIC towards its host and towards the network.
struct NicRates {
  double pcie = 0;
  double cables = 0;
  bool narrow() const { return pcie > 0 && pcie < cables; }
};

}  // namespace

std::string narrow_nics(const PlanTask& task) {
  const topology::Graph& graph = task.graph;
  std::map<Index, NicRates> nics;
  bool nvlink = false;
  for (const algorithms::Edge& edge : task.network.edges) {
    if (edge.link < 0) continue;
    const topology::Link& link = graph.links()[static_cast<size_t>(edge.link)];
    nvlink = nvlink || link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi;
    const Index nic = graph.holder(link.from, NodeKind::nic);
    if (nic == topology::kNone) continue;
    if (link.kind == LinkKind::pci) nics[nic].pcie += link.gb_per_s;
    if (link.kind == LinkKind::cable) nics[nic].cables += link.gb_per_s;
  }
  const auto narrow = [](const auto& entry) { return entry.second.narrow(); };
  const auto count = std::ranges::count_if(nics, narrow);
  if (count == 0) return "";
  const auto first = std::ranges::find_if(nics, narrow);
  return fmt::format(
      "PCIe gives {} less than their cables: {:.4g} instead of {:.4g} GB/s, for example for {}{}",
      plural(count, "NIC"), first->second.pcie, first->second.cables, graph.describe(first->first),
      nvlink ? "; between other GPUs and the GPU nearest to a NIC, plans use NVLink or xGMI" : "");
}

}  // namespace weir::cli
