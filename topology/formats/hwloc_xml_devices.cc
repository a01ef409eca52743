// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>

#include "topology/formats/hwloc_xml_build.h"
#include "topology/formats/hwloc_xml_fields.h"
#include "topology/formats/hwloc_xml_kinds.h"
#include "topology/model/rates.h"

namespace weir::topology::hwloc {
namespace {

using Stage = Above::Stage;

// The recursions here are bounded by the reader's depth limit.
class Devices {
 public:
  explicit Devices(Build& build) : build_(build) {}

  Status add() {
    find_used(build_.document.machine);
    return walk(build_.document.machine);
  }

 private:
  bool find_used(const HwlocObject& object);
  Status walk(const HwlocObject& object);
  Status add_below(const HwlocObject& object, const Above& above);
  Status add_bridge(const HwlocObject& object, const Above& above);
  Status add_function(const HwlocObject& object, const Above& above);
  Status add_virtual(const HwlocObject& object, const Above& above);
  Status read_pci(const HwlocObject& object, PciFacts& pci);

  Build& build_;
  std::unordered_set<const HwlocObject*> used_;  ///< bridges with a device below them
};

Status Devices::read_pci(const HwlocObject& object, PciFacts& pci) {
  pci.address = object.pci_busid;
  if (parse_pci_type(object.pci_type, pci)) return {};
  return build_.refuse(fmt::format("pci_type of {} is \"{}\"; expected class, vendor, device and so on",
                                   object.pci_busid, object.pci_type));
}

bool Devices::find_used(const HwlocObject& object) {
  bool used = false;
  PciFacts pci;
  if (object.type == "PCIDev" && parse_pci_type(object.pci_type, pci))
    used = function_of(build_.document, object, pci) != Function::other;
  for (const HwlocObject& child : object.children) used = find_used(child) || used;
  if (used && object.type == "Bridge") used_.insert(&object);
  return used;
}

Status Devices::walk(const HwlocObject& object) {
  for (const HwlocObject& child : object.children) {
    if (!is_device(child)) {
      WEIR_TRY(walk(child));
    } else if (child.type == "OSDev") {
      WEIR_TRY(add_virtual(child, {.place = &build_.place_of(object)}));
    } else {
      WEIR_TRY(add_below(child, {.place = &build_.place_of(object)}));
    }
  }
  return {};
}

Status Devices::add_below(const HwlocObject& object, const Above& above) {
  if (object.type == "Bridge") return add_bridge(object, above);
  return object.type == "PCIDev" ? add_function(object, above) : Status();
}

Status Devices::add_bridge(const HwlocObject& object, const Above& above) {
  if (!used_.contains(&object)) return {};
  const bool is_host_bridge = object.bridge_type == "0-1";
  BridgeFacts facts;
  if (!is_host_bridge) WEIR_TRY(read_pci(object, facts.pci));
  const bool is_root_port = above.stage == Stage::root_bus;
  const bool is_downstream_port = above.stage == Stage::inside_switch && above.vendor == facts.pci.vendor;
  Above below{.place = above.place, .bridge = above.bridge};
  if (!is_host_bridge && (is_root_port || is_downstream_port)) {
    below.stage = Stage::port;
    below.port_gb_per_s = std::max(object.pci_link_speed, 0.0);
  } else {
    below.stage = is_host_bridge ? Stage::root_bus : Stage::inside_switch;
    below.vendor = facts.pci.vendor;
    // A bridge without a host bridge is the beginning of its bus, whatever its own type says.
    facts.root = is_host_bridge || above.stage == Stage::processors;
    std::string name = object.pci_busid;
    if (is_host_bridge && !parse_buses(object.bridge_pci, name)) name = "root";
    name = build_.free_name(above.parent(), NodeKind::bridge, name);
    below.bridge = build_.graph.add(name, above.parent(), std::move(facts));
    connect_above(build_, below.bridge, object, above);
  }
  for (const HwlocObject& child : object.children) WEIR_TRY(add_below(child, below));
  return {};
}

Status Devices::add_function(const HwlocObject& object, const Above& above) {
  PciFacts pci;
  WEIR_TRY(read_pci(object, pci));
  switch (function_of(build_.document, object, pci)) {
    case Function::gpu: return add_gpus(build_, object, pci, above);
    case Function::nic: add_nic(build_, object, pci, above); return {};
    case Function::nvswitch: {
      const std::string name = build_.free_name(above.parent(), NodeKind::nvswitch, object.pci_busid);
      const Index node = build_.graph.add(name, above.parent(), NvSwitchFacts{.pci = pci});
      connect_above(build_, node, object, above);
      build_.nodes[&object] = node;
      return {};
    }
    case Function::other: break;
  }
  return {};
}

Status Devices::add_virtual(const HwlocObject& object, const Above& above) {
  int device = 0;
  if (library_of(object, device) != GpuLibrary::none)
    return build_.leave_out(fmt::format("GPU {} has no PCI function; ignored", object.name));
  if (network_of(build_.document, object) != NicDriver::none) add_nic(build_, object, {}, above);
  return {};
}

}  // namespace

void connect_above(Build& build, Index node, const HwlocObject& object, const Above& above) {
  Link link{.from = node, .to = above.bridge, .kind = LinkKind::pci};
  link.gb_per_s = object.bridge_type == "0-1" ? kInnerGbPerS  // inside the processor
                  : object.pci_link_speed > 0 ? object.pci_link_speed
                                              : above.port_gb_per_s;
  if (above.bridge != kNone) return build.graph.connect(link);
  for (const Index numa : above.place->numas) {
    link.to = numa;
    build.graph.connect(link);
  }
}

Status add_devices(Build& build) { return Devices(build).add(); }

}  // namespace weir::topology::hwloc
