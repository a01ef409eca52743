// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "topology/detect/probe.h"
#include "topology/formats/source.h"

namespace weir::topology {
namespace {

/// The port of a network interface: its own, or that of the verbs device on the same NIC.
Index port_of(const Probe& probe, const std::string& interface) {
  for (const Index port : probe.graph.all(NodeKind::port)) {
    if (probe.graph[port].name == interface) return port;
  }
  const auto device = probe.files.real_path("/sys/class/net/" + interface + "/device");
  if (!device) return kNone;
  const std::string address = device->substr(device->rfind('/') + 1);
  const Index nic = probe.at_address(NodeKind::nic, address);
  for (Index node = nic; node != kNone && node < probe.graph.size(); ++node) {
    if (probe.graph[node].parent == nic && probe.graph[node].kind() == NodeKind::port) return node;
  }
  return kNone;
}

/// A NIC for an interface without a device, such as those of network namespaces, because it has a cable as
/// well.
Index add_port(Probe& probe, const std::string& interface) {
  const std::vector<Index> numa = probe.graph.all(NodeKind::numa);
  if (numa.empty()) return kNone;
  const Index nic = probe.graph.add(interface, numa.front(), NicFacts{});
  probe.graph.connect({nic, numa.front(), LinkKind::pci, 1, 0, 0, -1});
  PortFacts facts;
  facts.layer = PortLayer::ethernet;
  parse_number(probe.files.read("/sys/class/net/" + interface + "/speed").value_or(""), facts.mbit_per_s);
  facts.mbit_per_s = std::max(facts.mbit_per_s, 0.0);
  const Index port = probe.graph.add(interface, nic, facts);
  probe.graph.connect({port, nic, LinkKind::inner, 1, facts.mbit_per_s / 8000, 0, -1});
  return port;
}

}  // namespace

void probe_lldp(Probe& probe, const std::string& socket) {
  const auto neighbors = probe.machine.lldp(socket);
  if (!neighbors.ok()) return probe.absent(neighbors.status().message());
  std::map<std::string, Index> switches;  // key: chassis
  int cables = 0;
  for (const drivers::LldpNeighbor& neighbor : neighbors.value()) {
    if (!neighbor.is_switch || neighbor.chassis.empty()) continue;
    const Index known = port_of(probe, neighbor.interface);
    const Index port = known != kNone ? known : add_port(probe, neighbor.interface);
    if (port == kNone) continue;
    const auto [at, added] = switches.try_emplace(neighbor.chassis, kNone);
    if (added) {
      // The chassis id distinguishes switches of the same name, consistently on all hosts.
      const bool named = !neighbor.chassis_name.empty();
      at->second = probe.graph.add(
          named ? fmt::format("{} ({})", neighbor.chassis_name, neighbor.chassis) : neighbor.chassis, kNone,
          FabricSwitchFacts{1, 0, 0});
    }
    const double gb_per_s = probe.graph.get<PortFacts>(port)->mbit_per_s / 8000;
    probe.graph.connect({port, at->second, LinkKind::cable, 1, gb_per_s, 0, -1});
    ++cables;
  }
  if (cables == 0)
    return probe.absent("lldpd runs but has no message from a switch yet (switches send one every 30 s)");
  probe.found(fmt::format("{} cables to {} Ethernet switches", cables, switches.size()));
}

}  // namespace weir::topology
