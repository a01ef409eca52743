// SPDX-License-Identifier: Apache-2.0

#include "topology/views/words.h"

#include <fmt/format.h>

#include "topology/views/text.h"

namespace weir::topology {

std::string bandwidth_figure(double gb_per_s) { return gb_per_s > 0 ? figure(gb_per_s) : "?"; }

std::string bandwidth_words(double gb_per_s) { return rate(gb_per_s); }

std::string pcie_words(const PciFacts& pci) {
  if (pci.gt_per_s <= 0 || pci.width <= 0) return "";
  std::string text = fmt::format("PCIe x{} at {} GT/s", pci.width, pci.gt_per_s);
  const bool could_more = pci.most_gt_per_s > pci.gt_per_s || pci.most_width > pci.width;
  if (could_more) text += fmt::format(" of x{} at {} GT/s", pci.most_width, pci.most_gt_per_s);
  return text;
}

std::string gpu_words(const GpuFacts& gpu) {
  if (!gpu.model_name.empty())
    return gpu.arch.empty() ? gpu.model_name : fmt::format("{} ({})", gpu.model_name, gpu.arch);
  if (!gpu.arch.empty()) return gpu.arch;
  return gpu.pci.vendor != 0 ? fmt::format("{:04x}:{:04x}", gpu.pci.vendor, gpu.pci.device) : "";
}

std::string device_words(const Graph& graph, Index node) {
  const Node& own = graph[node];
  if (const auto* gpu = graph.get<GpuFacts>(node); gpu != nullptr && gpu->device >= 0)
    return fmt::format("GPU {}", gpu->device);
  if (own.kind() == NodeKind::bridge)
    return fmt::format("{} {}", graph.get<BridgeFacts>(node)->root ? "root complex" : "PCIe switch",
                       own.name);
  const std::string kind = name(own.kind());
  if (own.name == kind || own.name.starts_with(kind + " ")) return own.name;  // "partition 3"
  return kind + " " + own.name;
}

}  // namespace weir::topology
