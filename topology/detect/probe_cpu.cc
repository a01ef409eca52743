// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>

#include "topology/detect/probe.h"
#include "topology/formats/hwloc_xml.h"

namespace weir::topology {
namespace {

/// Used without hwloc: the NUMA nodes that the kernel lists.
void read_numa_nodes(Probe& probe) {
  for (const std::string& name : probe.files.list("/sys/devices/system/node")) {
    int64_t number = 0;
    if (!name.starts_with("node") || !parse_int(std::string_view(name).substr(4), number)) continue;
    NumaFacts facts;
    facts.number = static_cast<int>(number);
    facts.affinity = probe.files.read("/sys/devices/system/node/" + name + "/cpumap").value_or("");
    const Index node = probe.graph.add(fmt::format("{}", number), probe.host(), facts);
    for (const Index other : probe.graph.all(NodeKind::numa)) {
      if (other != node) probe.graph.connect({other, node, LinkKind::cpu, 1, 0, 0, -1});
    }
  }
  if (probe.graph.all(NodeKind::numa).empty()) {
    NumaFacts facts;
    facts.number = 0;
    probe.graph.add("0", probe.host(), facts);
  }
}

}  // namespace

void probe_cpu(Probe& probe) {
  const Result<std::string> xml = probe.machine.hwloc_xml();
  if (!xml.ok()) {
    read_numa_nodes(probe);
    return probe.doubt(fmt::format("the PCI tree could not be read: {}", xml.status().message()));
  }
  Notes notes;
  Result<HwlocXml> document = read_hwloc_xml({"hwloc", xml.value()}, &notes);
  Result<Graph> graph = document.ok() ? graph_of(*document, &notes) : document.status();
  if (!graph.ok()) {
    read_numa_nodes(probe);
    return probe.doubt(fmt::format("hwloc's output could not be read: {}", graph.status().message()));
  }
  probe.graph = std::move(*graph);
  const auto count = [&](NodeKind kind) { return probe.graph.all(kind).size(); };
  const std::vector<Index> bridges = probe.graph.all(NodeKind::bridge);
  const auto switches = std::count_if(bridges.begin(), bridges.end(),
                                      [&](Index node) { return !probe.graph.get<BridgeFacts>(node)->root; });
  probe.found(fmt::format("packages {}, NUMA nodes {}, PCIe switches {}, GPUs {}, NICs {}",
                          count(NodeKind::package), count(NodeKind::numa), switches, count(NodeKind::gpu),
                          count(NodeKind::nic)));
  for (std::string& note : notes) probe.doubt(std::move(note));
}

}  // namespace weir::topology
