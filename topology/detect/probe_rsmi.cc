// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "topology/detect/probe.h"
#include "topology/detect/xgmi.h"

namespace weir::topology {
namespace {

using drivers::RocmSmiGpu;
using drivers::RocmSmiLink;
using Pair = std::pair<Index, Index>;

constexpr uint32_t kAmd = 0x1002;

bool has_amd_gpus(const Graph& graph) {
  for (const Index node : graph.all(NodeKind::gpu)) {
    if (graph.get<GpuFacts>(node)->pci.vendor == kAmd) return true;
  }
  return false;
}

/// Adds what the kernel driver did not show, and reports differences: libraries and drivers of different
/// releases have given wrong links before.
class RsmiReader {
 public:
  RsmiReader(Probe& probe, const drivers::RocmSmi& smi) : probe_(probe), smi_(smi) {}

  void read() {
    for (const RocmSmiGpu& gpu : smi_.gpus) nodes_.push_back(place(gpu));
    for (const Link& link : probe_.graph.links()) {
      if (link.kind == LinkKind::xgmi) known_[{link.from, link.to}] = link.count;
    }
    compare_links();
    std::set<std::string> modes;
    for (const RocmSmiGpu& gpu : smi_.gpus) {
      for (const std::string& mode : {gpu.compute_partition, gpu.memory_partition}) {
        if (!mode.empty()) modes.insert(mode);
      }
    }
    std::string words;
    for (const std::string& mode : modes) words += ", " + mode;
    const std::set<Index> gpus(nodes_.begin(), nodes_.end());
    probe_.found(fmt::format("{} GPUs{} (ROCm SMI {})", gpus.size(), words, smi_.version));
  }

 private:
  Index place(const RocmSmiGpu& gpu) {
    const Index node = probe_.gpu_at(gpu.address, gpu.numa_node);
    GpuFacts& facts = *probe_.graph.get<GpuFacts>(node);
    facts.pci.vendor = kAmd;
    if (facts.model_name.empty()) facts.model_name = gpu.name;
    if (facts.uuid.empty() && gpu.unique_id != 0) facts.uuid = fmt::format("0x{:016x}", gpu.unique_id);
    const Index numa = probe_.graph.holder(node, NodeKind::numa);
    if (gpu.numa_node >= 0 && numa != kNone && probe_.graph.get<NumaFacts>(numa)->number != gpu.numa_node) {
      probe_.doubt(
          fmt::format("GPU {} is at NUMA node {} according to the kernel, but at {} according to ROCm SMI",
                      gpu.address, probe_.graph.get<NumaFacts>(numa)->number, gpu.numa_node));
    }
    for (Index child = node + 1; child < probe_.graph.size(); ++child) {
      auto* partition = probe_.graph.get<PartitionFacts>(child);
      if (partition != nullptr && probe_.graph[child].parent == node && partition->number == gpu.partition &&
          partition->profile.empty())
        partition->profile = gpu.compute_partition;
    }
    return node;
  }

  void compare_links() {
    std::map<Pair, const RocmSmiLink*> told;
    for (size_t i = 0; i < smi_.gpus.size(); ++i) {
      for (const RocmSmiLink& link : smi_.gpus[i].links) {
        if (link.to < 0 || static_cast<size_t>(link.to) >= nodes_.size()) continue;
        const Pair pair = {nodes_[i], nodes_[static_cast<size_t>(link.to)]};
        if (link.type == RocmSmiLink::Type::xgmi && is_direct_xgmi(link.weight) && pair.first != pair.second)
          told.try_emplace(pair, &link);
      }
    }
    int added = 0, others = 0;
    for (const auto& [pair, link] : told) {
      const auto at = known_.find(pair);
      if (at == known_.end()) {
        probe_.graph.add(
            xgmi_link(probe_.graph, pair.first, pair.second, link->least_mb_per_s, link->most_mb_per_s));
        ++added;
      } else if (link->least_mb_per_s > 0 &&
                 xgmi_count(link->least_mb_per_s, link->most_mb_per_s) != at->second) {
        ++others;
      }
    }
    const auto missing = std::count_if(known_.begin(), known_.end(),
                                       [&](const auto& link) { return told.count(link.first) == 0; });
    if (added > 0)
      probe_.doubt(fmt::format(
          "{} xGMI links are reported by ROCm SMI but not by the kernel driver; they are added", added));
    if (missing > 0) {
      probe_.doubt(fmt::format(
          "{} xGMI links are reported by the kernel driver but not by ROCm SMI; they are kept", missing));
    }
    if (others > 0) {
      probe_.doubt(
          fmt::format("for {} pairs of GPUs, ROCm SMI and the kernel driver report different numbers of xGMI "
                      "links; the driver's numbers are kept",
                      others));
    }
  }

  Probe& probe_;
  const drivers::RocmSmi& smi_;
  std::vector<Index> nodes_;  ///< index: the library's number of the GPU
  std::map<Pair, int> known_;
};

}  // namespace

void probe_rsmi(Probe& probe) {
  if (!has_amd_gpus(probe.graph)) return probe.absent("no AMD GPU, so ROCm SMI was not queried");
  Result<drivers::RocmSmi> smi = probe.machine.rocm_smi();
  if (!smi.ok()) return probe.absent(smi.status().message());
  if (smi->gpus.empty()) return probe.absent("ROCm SMI shows no GPU");
  RsmiReader(probe, *smi).read();
}

}  // namespace weir::topology
