// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include "tests/topology/writers.h"

namespace weir::topology {
namespace {

/// "S-2c5eab0300b87b40".
std::string label(IbKind kind, uint64_t guid) {
  return fmt::format("{}-{:016x}", "SHR"[static_cast<int>(kind)], guid);
}

std::string external(int number) { return number == 0 ? "" : fmt::format("[ext {}]", number); }

void write_port(const IbNode& node, const IbPort& port, std::string& text) {
  const bool of_switch = node.kind == IbKind::fabric_switch;
  text += fmt::format("[{}]{}", port.number, external(port.external));
  if (port.guid != 0) text += fmt::format("({:x}) ", port.guid);
  text += fmt::format("\t\"{}\"[{}]{}", label(port.peer_kind, port.peer), port.peer_number,
                      external(port.peer_external));
  if (port.peer_guid != 0) text += fmt::format("{}({:x}) ", of_switch ? "" : " ", port.peer_guid);
  text += "\t\t# ";
  if (!of_switch) text += fmt::format("lid {} lmc {} ", port.lid, port.lmc);
  text += fmt::format("\"{}\" lid {} ", port.peer_description, port.peer_lid);
  text += port.width == 0 ? "??" : fmt::format("{}x", port.width);
  text += fmt::format("{}{}{}\n", name(port.speed), port.attributes.empty() ? "" : " ", port.attributes);
}

void write_node(const IbNode& node, std::string& text) {
  text += fmt::format("\nvendid=0x{:x}\ndevid=0x{:x}\n", node.vendor, node.device);
  if (node.system_guid != 0) text += fmt::format("sysimgguid=0x{:x}\n", node.system_guid);
  const std::string own = label(node.kind, node.guid);
  if (node.kind == IbKind::fabric_switch) {
    text += fmt::format("switchguid=0x{:x}({:x})\nSwitch\t{} \"{}\"\t\t# \"{}\" {} port 0 lid {} lmc {}\n",
                        node.guid, node.port_guid, node.port_count, own, node.description,
                        node.enhanced_port_0 ? "enhanced" : "base", node.lid, node.lmc);
  } else {
    const bool router = node.kind == IbKind::router;
    text += fmt::format("{}guid=0x{:x}\n{}\t{} \"{}\"\t\t# \"{}\"\n", router ? "rt" : "ca", node.guid,
                        router ? "Rt" : "Ca", node.port_count, own, node.description);
  }
  for (const IbPort& port : node.ports) write_port(node, port, text);
}

}  // namespace

std::string write_ibnetdiscover(const IbFabric& fabric) {
  std::string text = "#\n# Topology file: written by weir\n#\n";
  for (const IbNode& node : fabric.nodes) write_node(node, text);
  return text;
}

}  // namespace weir::topology
