// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <map>

#include "topology/detect/probe.h"
#include "topology/model/nvswitch.h"
#include "topology/model/rates.h"

namespace weir::topology {
namespace {

using drivers::NvmlGpu;
using drivers::NvmlLink;

void fill_facts(GpuFacts& gpu, const NvmlGpu& told, int number) {
  gpu.device = number;
  gpu.pci.vendor = 0x10de;
  gpu.model_name = told.name;
  gpu.uuid = told.uuid;
  if (told.major > 0) gpu.arch = fmt::format("sm_{}{}", told.major, told.minor);
  // NVML reports the current state; an idle GPU has slowed its link down, so the maximum is read as well.
  gpu.pci.gt_per_s = std::max(gpu.pci.gt_per_s, pcie_gt_per_s(told.pcie_generation));
  gpu.pci.width = std::max(gpu.pci.width, told.pcie_width);
  gpu.pci.most_gt_per_s = std::max(gpu.pci.most_gt_per_s, pcie_gt_per_s(told.most_pcie_generation));
  gpu.pci.most_width = std::max(gpu.pci.most_width, told.most_pcie_width);
}

/// The other end of a link: a GPU, the processor, a visible switch, or the node that represents all invisible
/// ones.
Index far_end(Probe& probe, Index gpu, const NvmlLink& link, const std::string& invisible) {
  const Index peer = probe.at_address(NodeKind::gpu, link.address);
  if (peer != kNone) return peer;
  if (link.remote == NvmlLink::Remote::gpu) return kNone;
  if (link.remote == NvmlLink::Remote::processor) return probe.graph.holder(gpu, NodeKind::numa);
  const Index known = probe.at_address(NodeKind::nvswitch, link.address);
  if (known != kNone) return known;
  const std::string name = link.address.empty() ? invisible : link.address;
  for (const Index node : probe.graph.all(NodeKind::nvswitch)) {
    if (probe.graph[node].name == name) return node;
  }
  NvSwitchFacts facts;
  facts.pci.address = link.address;
  return probe.graph.add(name, probe.host(), facts);
}

/// Adds the links of one GPU; links to the same end are combined.
void add_links(Probe& probe, Index gpu, const NvmlGpu& told) {
  std::map<Index, int> counts;
  int lost = 0;
  for (const NvmlLink& link : told.links) {
    const Index end = far_end(probe, gpu, link, "nvswitch");
    if (end == kNone || end == gpu) {
      ++lost;
    } else {
      ++counts[end];
    }
  }
  const double one = nvlink_gb_per_s(probe.graph.get<GpuFacts>(gpu)->arch);
  for (const auto& [end, count] : counts) {
    const Link link{gpu, end, LinkKind::nvlink, count, count * one, 0, -1};
    if (probe.graph[end].kind() == NodeKind::gpu) {
      probe.graph.add(link);  // the other GPU reports the other direction
    } else {
      probe.graph.connect(link);
    }
  }
  if (lost > 0) {
    probe.doubt(fmt::format(
        "{} NVLinks of GPU {} lead to GPUs that are not visible here (hidden by a container or the driver)",
        lost, told.address));
  }
}

}  // namespace

void probe_nvml(Probe& probe) {
  const Result<drivers::Nvml> nvml = probe.machine.nvml();
  if (!nvml.ok()) {
    bool there = false;
    for (const Index node : probe.graph.all(NodeKind::gpu))
      there |= probe.graph.get<GpuFacts>(node)->pci.vendor == 0x10de;
    return there ? probe.doubt(fmt::format("NVIDIA GPUs are present, but {}", nvml.status().message()))
                 : probe.absent(nvml.status().message());
  }
  const std::vector<NvmlGpu>& gpus = nvml.value().gpus;
  std::vector<Index> nodes;
  for (size_t i = 0; i < gpus.size(); ++i) {
    nodes.push_back(probe.gpu_at(gpus[i].address));
    fill_facts(*probe.graph.get<GpuFacts>(nodes[i]), gpus[i], static_cast<int>(i));
  }
  int links = 0;
  for (size_t i = 0; i < gpus.size(); ++i) {
    add_links(probe, nodes[i], gpus[i]);
    links += static_cast<int>(gpus[i].links.size());
    for (size_t p = 0; p < gpus[i].partitions.size(); ++p) {
      const auto& told = gpus[i].partitions[p];
      const Index node = probe.graph.add(fmt::format("MIG {}", p), nodes[i],
                                         PartitionFacts{static_cast<int>(p), told.profile, told.uuid});
      probe.graph.connect({node, nodes[i], LinkKind::inner, 1, kInnerGbPerS, 0, -1});
    }
    const Index numa = probe.graph.holder(nodes[i], NodeKind::numa);
    if (gpus[i].c2c_links > 0 && numa != kNone) {
      const double gb_per_s = gpus[i].c2c_links * gpus[i].c2c_mb_per_s / 1000;
      probe.graph.connect({nodes[i], numa, LinkKind::c2c, gpus[i].c2c_links, gb_per_s, 0, -1});
    }
  }
  join_nvswitches(probe.graph);
  probe.found(fmt::format("{} GPUs, {} NVLink ends (driver {})", gpus.size(), links, nvml.value().driver));
}

}  // namespace weir::topology
