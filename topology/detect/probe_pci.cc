// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>

#include "topology/detect/probe.h"
#include "topology/formats/source.h"
#include "topology/model/pci_fabric.h"
#include "topology/model/rates.h"

namespace weir::topology {
namespace {

/// "16.0 GT/s PCIe" -> 16; 0 for "Unknown" and similar texts.
double gt_per_s(const std::optional<std::string>& text) {
  double value = 0;
  return text && parse_number(std::string_view(*text).substr(0, text->find(' ')), value) ? value : 0;
}

int lanes(const std::optional<std::string>& text) {
  int64_t value = 0;
  return text && parse_int(*text, value) && value > 0 && value <= 32 ? static_cast<int>(value) : 0;
}

PciFacts* pci_facts(Graph& graph, Index node) { return const_cast<PciFacts*>(pci_of(graph[node])); }

/// The kernel's data about the link above a device. The maximum is the lesser of what both ends support.
void read_link(drivers::Files& files, const std::string& folder, PciFacts& pci) {
  pci.gt_per_s = gt_per_s(files.read(folder + "/current_link_speed"));
  pci.width = lanes(files.read(folder + "/current_link_width"));
  pci.most_gt_per_s = gt_per_s(files.read(folder + "/max_link_speed"));
  pci.most_width = lanes(files.read(folder + "/max_link_width"));
  const double upper_rate = gt_per_s(files.read(folder + "/../max_link_speed"));
  const int upper_width = lanes(files.read(folder + "/../max_link_width"));
  if (upper_rate > 0) pci.most_gt_per_s = std::min(pci.most_gt_per_s, upper_rate);
  if (upper_width > 0) pci.most_width = std::min(pci.most_width, upper_width);
}

/// Broadcom's driver lists which of its switches form one fabric: a folder per switch with a link per peer.
void read_fabrics(Probe& probe) {
  for (const Index node : probe.graph.all(NodeKind::bridge)) {
    BridgeFacts& bridge = *probe.graph.get<BridgeFacts>(node);
    if (bridge.pci.address.empty()) continue;
    for (const std::string& name :
         probe.files.list("/sys/kernel/pci_switch_link/virtual_switch_links/" + bridge.pci.address)) {
      std::string address;
      if (parse_pci_address(name, address)) bridge.peers.push_back(std::move(address));
    }
  }
  const int pairs = join_pci_fabrics(probe.graph);
  if (pairs > 0) probe.found(fmt::format("{} pairs of PCIe switches that form one fabric", pairs));
}

}  // namespace

void probe_pci(Probe& probe) {
  int known = 0, unknown = 0;
  for (Index node = 0; node < probe.graph.size(); ++node) {
    PciFacts* const pci = pci_facts(probe.graph, node);
    if (pci == nullptr || pci->address.empty()) continue;
    const auto folder = probe.files.real_path("/sys/bus/pci/devices/" + pci->address);
    if (!folder) continue;
    read_link(probe.files, *folder, *pci);
    const double gb_per_s = pcie_gb_per_s(pci->gt_per_s, pci->width);
    ++(gb_per_s > 0 ? known : unknown);
    if (gb_per_s <= 0) continue;
    for (Link& link : probe.graph.links()) {
      const bool above = (link.from == node && link.to == probe.graph[node].parent) ||
                         (link.to == node && link.from == probe.graph[node].parent);
      if (link.kind == LinkKind::pci && above) link.gb_per_s = gb_per_s;
    }
  }
  read_fabrics(probe);
  if (known > 0) probe.found(fmt::format("the speeds of {} PCIe links", known));
  if (known == 0 && unknown > 0)
    probe.absent("no PCIe device reports its link speed, as is usual in a virtual machine");
}

}  // namespace weir::topology
