#include "topology/detect/detect.h"

#include <fmt/format.h>

#include "topology/detect/probe.h"
#include "topology/model/check.h"

namespace weir::topology {
namespace {

struct Row {
  const char* name;
  void (*run)(Probe&);
};

/// All of them, in order: later ones refine what earlier ones found.
constexpr Row kProbes[] = {
    {"cpu", probe_cpu}, {"pci", probe_pci}, {"nvml", probe_nvml},
    {"kfd", probe_kfd}, {"nic", probe_nic}, {"host", probe_host},
};

}  // namespace

Index Probe::at_address(NodeKind kind, const std::string& address) const {
  for (Index node = 0; node < graph.size() && !address.empty(); ++node) {
    const PciFacts* pci = pci_of(graph[node]);
    if (graph[node].kind() == kind && pci != nullptr && pci->address == address) return node;
  }
  return kNone;
}

Index Probe::gpu_at(const std::string& address, int numa) {
  const Index known = at_address(NodeKind::gpu, address);
  if (known != kNone) return known;
  Index parent = host();
  for (const Index node : graph.all(NodeKind::numa)) {
    if (numa >= 0 && graph.get<NumaFacts>(node)->number == numa) parent = node;
  }
  GpuFacts facts;
  facts.pci.address = address;
  const std::string name = address.empty() ? fmt::format("gpu{}", graph.all(NodeKind::gpu).size()) : address;
  const Index node = graph.add(name, parent, facts);
  if (graph[parent].kind() == NodeKind::numa) graph.connect({node, parent, LinkKind::pci, 1, 0, 0, -1});
  doubt(fmt::format("the driver knows GPU {}, which the PCI tree does not show", name));
  return node;
}

Detected detect(drivers::Machine& machine) {
  Detected detected;
  detected.graph.add("host", kNone, HostFacts{});
  for (const Row& row : kProbes) {
    Detected before = detected;
    Probe probe(row.name, machine, detected);
    row.run(probe);
    const Status sound = check(detected.graph);
    if (sound.ok()) continue;
    detected = std::move(before);
    detected.findings.push_back(
        {row.name, Finding::Kind::doubt, fmt::format("left out, because {}", sound.message())});
  }
  return detected;
}

}  // namespace weir::topology
