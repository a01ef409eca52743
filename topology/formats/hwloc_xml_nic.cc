// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>

#include "topology/formats/hwloc_xml_build.h"
#include "topology/formats/hwloc_xml_fields.h"
#include "topology/formats/hwloc_xml_kinds.h"

namespace weir::topology::hwloc {
namespace {

/// A NIC under construction, whose ports are being added.
struct Nic {
  Build& build;
  Index node;
  PciFacts pci;
};

void add_port(const Nic& nic, const std::string& name, const PortFacts& facts) {
  const std::string free = nic.build.free_name(nic.node, NodeKind::port, name);
  const Index port = nic.build.graph.add(free, nic.node, facts);
  nic.build.graph.connect({.from = nic.node, .to = port, .kind = LinkKind::inner});
}

PortLayer layer_of(const Nic& nic, int lid) {
  constexpr uint32_t kEthernet = 0x0200;
  constexpr uint32_t kInfiniband = 0x0207;
  constexpr uint32_t kAmazon = 0x1d0f;
  const uint32_t subclass = nic.pci.class_code >> 8;
  if (subclass == kInfiniband) return PortLayer::infiniband;
  // Amazon's verbs devices are neither InfiniBand nor Ethernet.
  if (subclass != kEthernet || nic.pci.vendor == kAmazon) return PortLayer::unknown;
  return lid == 0 ? PortLayer::ethernet : PortLayer::infiniband;
}

/// The port numbers from the names "Port1State", "Port2State", ...
std::vector<int> port_numbers(const HwlocObject& device) {
  constexpr std::string_view kBegin = "Port";
  constexpr std::string_view kEnd = "State";
  std::vector<int> numbers;
  for (const auto& [name, value] : device.infos) {
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || name.size() < kBegin.size() + kEnd.size()) {
      continue;
    }
    std::string_view text = name;
    text.remove_prefix(kBegin.size());
    text.remove_suffix(kEnd.size());
    int64_t number = 0;
    constexpr int kMostPorts = 255;
    if (parse_int(text, number) && number >= 1 && number <= kMostPorts)
      numbers.push_back(static_cast<int>(number));
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  if (numbers.empty()) numbers.push_back(1);
  return numbers;
}

void add_verbs_ports(const Nic& nic, const HwlocObject& device) {
  const std::vector<int> numbers = port_numbers(device);
  for (const int number : numbers) {
    const auto info = [&](const char* what) {
      return find(device.infos, fmt::format("Port{}{}", number, what));
    };
    PortFacts port;
    port.number = number;
    if (const std::string* state = info("State"); state != nullptr) port.active = *state == "4";
    uint64_t lid = 0;
    const std::string* text = info("LID");
    if (text != nullptr && parse_hex(*text, lid) && lid <= 0xffff) port.lid = static_cast<int>(lid);
    port.layer = layer_of(nic, port.lid);
    // Several functions of one adapter share SysImageGUID, but not the GUID in their port's GID.
    const std::string* gid = info("GID0");
    const std::string* node_guid = find(device.infos, "NodeGUID");
    if (gid != nullptr) {
      parse_guid(*gid, port.guid);
    } else if (node_guid != nullptr && numbers.size() == 1) {
      parse_guid(*node_guid, port.guid);
    }
    add_port(nic, numbers.size() == 1 ? device.name : fmt::format("{}:{}", device.name, number), port);
  }
}

void add_interface_port(const Nic& nic, const HwlocObject& device) {
  PortFacts port;
  int bytes = 0;
  const std::string* address = find(device.infos, "Address");
  if (address != nullptr && parse_hardware_address(*address, port.guid, bytes))
    port.layer = bytes == 6 ? PortLayer::ethernet : PortLayer::infiniband;
  int64_t number = 0;
  const std::string* text = find(device.infos, "Port");
  if (text != nullptr && parse_int(*text, number) && number >= 1 && number <= 255)
    port.number = static_cast<int>(number);
  add_port(nic, device.name, port);
}

void add_ports(const Nic& nic, const HwlocObject& device, NicDriver kind) {
  const auto add = [&](const HwlocObject& object) {
    if (network_of(nic.build.document, object) != kind) return;
    kind == NicDriver::verbs ? add_verbs_ports(nic, object) : add_interface_port(nic, object);
  };
  add(device);
  for (const HwlocObject& child : device.children) add(child);
}

}  // namespace

void add_nic(Build& build, const HwlocObject& object, const PciFacts& pci, const Above& above) {
  const std::string* model = find(object.infos, "PCIDevice");
  const bool is_virtual = object.type == "OSDev";
  NicFacts facts;
  facts.pci = pci;
  if (!is_virtual) facts.model_name = model != nullptr ? *model : object.name;
  const std::string& wanted = is_virtual ? object.name : object.pci_busid;
  const std::string name = build.free_name(above.parent(), NodeKind::nic, wanted);
  const Index node = build.graph.add(name, above.parent(), std::move(facts));
  connect_above(build, node, object, above);
  const Nic nic{.build = build, .node = node, .pci = pci};
  const auto has_verbs = [&build](const HwlocObject& device) {
    return network_of(build.document, device) == NicDriver::verbs;
  };
  const bool verbs =
      has_verbs(object) || std::any_of(object.children.begin(), object.children.end(), has_verbs);
  add_ports(nic, object, verbs ? NicDriver::verbs : NicDriver::interface);
}

}  // namespace weir::topology::hwloc
