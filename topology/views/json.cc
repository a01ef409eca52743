// SPDX-License-Identifier: Apache-2.0

#include "topology/views/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weir::topology {
namespace {

using Json = nlohmann::ordered_json;

/// Writes members whose values are known.
class Members {
 public:
  explicit Members(Json& json) : json_(json) {}

  template <typename T>
  void add(const char* key, const T& value, const T& unknown) {
    if (value != unknown) json_[key] = value;
  }
  void text(const char* key, const std::string& value) { add(key, value, {}); }
  void hex(const char* key, uint64_t value) {
    if (value != 0) json_[key] = fmt::format("{:#x}", value);
  }

  void all(const PciFacts& pci) {
    text("pci_address", pci.address);
    hex("pci_class", pci.class_code);
    hex("pci_vendor", pci.vendor);
    hex("pci_device", pci.device);
    add("gt_per_s", pci.gt_per_s, 0.0);
    add("width", pci.width, 0);
    add("most_gt_per_s", pci.most_gt_per_s, 0.0);
    add("most_width", pci.most_width, 0);
  }
  void all(const CpuFacts& cpu) {
    text("arch", cpu.arch);
    text("vendor", cpu.vendor);
    add("family", cpu.family, -1);
    add("model", cpu.model, -1);
  }
  void all(const HostFacts& host) {
    hex("identity", host.identity);
    text("hypervisor", host.hypervisor);
  }
  void all(const PackageFacts& package) {
    add("number", package.number, -1);
    all(package.cpu);
    text("model_name", package.model_name);
  }
  void all(const NumaFacts& numa) {
    add("number", numa.number, -1);
    text("affinity", numa.affinity);
    all(numa.cpu);
    add("memory_bytes", numa.memory_bytes, uint64_t{0});
  }
  void all(const BridgeFacts& bridge) {
    add("root", bridge.root, false);
    all(bridge.pci);
    add("peers", bridge.peers, {});
  }
  void all(const GpuFacts& gpu) {
    all(gpu.pci);
    add("device", gpu.device, -1);
    add("rank", gpu.rank, -1);
    text("arch", gpu.arch);
    add("units", gpu.units, 0);
    add("gdr", gpu.gdr, false);
    add("package", gpu.package, -1);
    text("uuid", gpu.uuid);
    text("model_name", gpu.model_name);
  }
  void all(const PartitionFacts& partition) {
    add("number", partition.number, -1);
    text("profile", partition.profile);
    text("uuid", partition.uuid);
  }
  void all(const NvSwitchFacts& facts) { all(facts.pci); }
  void all(const NicFacts& nic) {
    all(nic.pci);
    text("model_name", nic.model_name);
  }
  void all(const PortFacts& port) {
    add("device", port.device, -1);
    json_["port"] = port.number;
    add("mbit_per_s", port.mbit_per_s, 0.0);
    add("latency_us", port.latency_us, 0.0);
    hex("guid", port.guid);
    add("most_connections", port.most_connections, 0);
    add("gdr", port.gdr, false);
    add("in_network_reduction", port.in_network_reduction, false);
    if (port.layer != PortLayer::unknown)
      json_["layer"] = port.layer == PortLayer::ethernet ? "ethernet" : "infiniband";
    add("active", port.active, true);
    add("lid", port.lid, 0);
    add("rail", port.rail, -1);
    add("plane", port.plane, -1);
  }
  void all(const FabricSwitchFacts& facts) {
    add("level", facts.level, 0);
    hex("guid", facts.guid);
    add("ports", facts.ports, 0);
  }

 private:
  Json& json_;
};

}  // namespace

std::string json_of(const Graph& graph) {
  Json nodes = Json::array(), links = Json::array();
  for (const Node& node : graph.nodes()) {
    Json one = {{"kind", name(node.kind())}, {"name", node.name}};
    if (node.parent != kNone) one["parent"] = node.parent;
    std::visit([&](const auto& facts) { Members(one).all(facts); }, node.facts);
    nodes.push_back(std::move(one));
  }
  for (const Link& link : graph.links()) {
    Json one = {{"from", link.from}, {"to", link.to}, {"kind", name(link.kind)}, {"count", link.count}};
    Members members(one);
    members.add("gb_per_s", link.gb_per_s, 0.0);
    members.add("latency_us", link.latency_us, 0.0);
    members.add("rail", link.rail, -1);
    links.push_back(std::move(one));
  }
  return Json{{"nodes", std::move(nodes)}, {"links", std::move(links)}}.dump(
             1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace weir::topology
