// SPDX-License-Identifier: Apache-2.0

#include "topology/detect/detect.h"

#include <fmt/format.h>

#include <algorithm>

#include "topology/detect/probe.h"
#include "topology/model/check.h"

namespace weir::topology {
namespace {

/// Runs a probe; if the graph is invalid afterwards, the probe's additions are removed.
template <typename ProbeIt>
void run(const char* name, ProbeIt probe_it, drivers::Machine& machine, Detected& detected) {
  Graph before = detected.graph;
  Probe probe(name, machine, detected);
  probe_it(probe);
  const Status sound = check(detected.graph);
  if (sound.ok()) return;
  detected.graph = std::move(before);
  probe.doubt(fmt::format("discarded its findings: {}", sound.message()));
}

/// Management ports are device files with restricted access.
bool has_management_port(drivers::Machine& machine) {
  const std::vector<std::string> names = machine.files().list("/dev/infiniband");
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.starts_with("umad"); });
}

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
  doubt(fmt::format("the driver reports GPU {}, which the PCI tree does not show", name));
  return node;
}

Detected detect_subnet(drivers::Machine& machine) {
  Detected detected;
  if (has_management_port(machine)) run("subnet", probe_subnet, machine, detected);
  return detected;
}

Detected detect(drivers::Machine& machine, const DetectOptions& options) {
  Detected detected;
  // The order matters: later probes refine what earlier ones found.
  if (options.host) {
    detected.graph = *options.host;
  } else {
    detected.graph.add("host", kNone, HostFacts{});
    run("cpu", probe_cpu, machine, detected);
    run("pci", probe_pci, machine, detected);
    run("nvml", probe_nvml, machine, detected);
    run("kfd", probe_kfd, machine, detected);
    run("rsmi", probe_rsmi, machine, detected);
    run("nic", probe_nic, machine, detected);
  }
  run("host", probe_host, machine, detected);
  run(
      "lldp", [&](Probe& probe) { probe_lldp(probe, options.lldp_socket); }, machine, detected);
  using Subnet = DetectOptions::Subnet;
  if (options.subnet == Subnet::always ||
      (options.subnet == Subnet::if_permitted && has_management_port(machine)))
    run("subnet", probe_subnet, machine, detected);
  return detected;
}

}  // namespace weir::topology
