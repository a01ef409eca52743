// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <vector>

#include "topology/formats/nccl_xml.h"
#include "topology/formats/xml.h"

namespace weir::topology {
namespace {

class NcclWriter {
 public:
  explicit NcclWriter(const NcclXml& file)
      : file_(file), graph_(file.graph), children_(static_cast<size_t>(graph_.size())) {
    for (Index node = 0; node < graph_.size(); ++node) {
      if (graph_[node].parent != kNone) children_[static_cast<size_t>(graph_[node].parent)].push_back(node);
    }
    for (size_t i = 0; i < graph_.links().size(); ++i) links_[graph_.links()[i].from].push_back(i);
    hosts_ = graph_.all(NodeKind::host).size();
  }

  std::string write() {
    const std::vector<Index> hosts = graph_.all(NodeKind::host);
    put(0, "<system");
    attribute("version", file_.dialect == NcclDialect::nccl ? "1" : "2");
    if (!hosts.empty() && graph_[hosts[0]].name != "host") attribute("name", graph_[hosts[0]].name);
    text_ += ">\n";
    for (Index node = 0; node < graph_.size(); ++node) {
      if (graph_[node].kind() == NodeKind::numa) write_cpu(node);
    }
    return std::move(text_ += "</system>\n");
  }

 private:
  void put(int depth, const char* text) { text_.append(static_cast<size_t>(2 * depth), ' ').append(text); }
  void attribute(const char* name, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), " {}=\"{}\"", name, xml_text(value));
  }
  template <typename T>
  void number(const char* name, T value) {
    fmt::format_to(std::back_inserter(text_), " {}=\"{}\"", name, value);
  }

  void write_cpu(Index node) {
    const auto& numa = *graph_.get<NumaFacts>(node);
    put(1, "<cpu");
    const Index host = graph_.holder(node, NodeKind::host);
    if (host != kNone && (hosts_ > 1 || graph_.get<HostFacts>(host)->identity != 0))
      attribute("host_hash", fmt::format("0x{:x}", graph_.get<HostFacts>(host)->identity));
    number("numaid", numa.number);
    if (!numa.affinity.empty()) attribute("affinity", numa.affinity);
    if (!numa.cpu.arch.empty()) attribute("arch", numa.cpu.arch);
    if (!numa.cpu.vendor.empty()) attribute("vendor", numa.cpu.vendor);
    if (numa.cpu.family >= 0) number("familyid", numa.cpu.family);
    if (numa.cpu.model >= 0) number("modelid", numa.cpu.model);
    text_ += ">\n";
    for (const Index child : children_[static_cast<size_t>(node)]) write_device(child, 2);
    put(1, "</cpu>\n");
  }

  /// The PCI address; of a bridge that was read with the address of another one ("0000:10:00.0#2") it is in
  /// the name.
  std::string busid_of(Index node) const {
    const PciFacts* const pci = pci_of(graph_[node]);
    if (pci == nullptr || !pci->address.empty()) return pci == nullptr ? std::string() : pci->address;
    const std::string& name = graph_[node].name;
    std::string address;
    const size_t end = name.find('#');
    if (graph_[node].kind() == NodeKind::bridge && end != std::string::npos)
      parse_pci_address(std::string_view(name).substr(0, end), address);
    return address;
  }

  void write_device(Index node, int depth) {
    const auto* bridge = graph_.get<BridgeFacts>(node);
    const PciFacts* pci = pci_of(graph_[node]);
    // The format describes links from switch to processor, and no bridges without an address.
    if (bridge != nullptr && (bridge->root || busid_of(node).empty())) {
      for (const Index child : children_[static_cast<size_t>(node)]) write_device(child, depth);
      return;
    }
    if (pci == nullptr) return;
    if (busid_of(node).empty()) {
      if (graph_[node].kind() == NodeKind::nic) write_ports(node, depth);
      return;
    }
    put(depth, "<pci");
    write_pci_facts(*pci, busid_of(node));
    text_ += ">\n";
    for (const Index child : children_[static_cast<size_t>(node)]) write_device(child, depth + 1);
    for (const std::string& peer : bridge != nullptr ? bridge->peers : std::vector<std::string>()) {
      put(depth + 1, "<pcilink");
      attribute("target", peer);
      text_ += "/>\n";
    }
    if (graph_[node].kind() == NodeKind::gpu) write_gpu(node, depth + 1);
    if (graph_[node].kind() == NodeKind::nic) write_ports(node, depth + 1);
    put(depth, "</pci>\n");
  }

  void write_pci_facts(const PciFacts& pci, const std::string& busid) {
    attribute("busid", busid);
    if (pci.class_code != 0) attribute("class", fmt::format("0x{:06x}", pci.class_code));
    const std::pair<const char*, uint32_t> numbers[] = {{"vendor", pci.vendor},
                                                        {"device", pci.device},
                                                        {"subsystem_vendor", pci.subsystem_vendor},
                                                        {"subsystem_device", pci.subsystem_device}};
    for (const auto& [name, value] : numbers) {
      if (value != 0) attribute(name, fmt::format("0x{:04x}", value));
    }
    // NCCL requires both; unknown values are a width of 0 and an empty speed.
    attribute("link_speed", pci.gt_per_s > 0 ? fmt::format("{:.1f} GT/s PCIe", pci.gt_per_s) : "");
    number("link_width", pci.width);
  }

  void write_gpu(Index node, int depth) {
    const auto& gpu = *graph_.get<GpuFacts>(node);
    if (gpu.device < 0) return;  // found on the bus, unknown to a driver
    put(depth, "<gpu");
    number("dev", gpu.device);
    if (file_.dialect == NcclDialect::nccl) {
      if (gpu.arch.starts_with("sm_")) attribute("sm", gpu.arch.substr(3));
    } else {
      number("sm", gpu.units);
      if (!gpu.arch.empty()) attribute("gcn", gpu.arch);
      if (gpu.features != 0) number("arch", gpu.features);
    }
    if (gpu.rank >= 0) number("rank", gpu.rank);
    number("gdr", gpu.gdr ? 1 : 0);
    text_ += ">\n";
    for (const size_t place : links_[node]) write_gpu_link(graph_.links()[place], depth + 1);
    put(depth, "</gpu>\n");
  }

  void write_gpu_link(const Link& link, int depth) {
    if (link.kind == LinkKind::c2c) {
      put(depth, "<c2c");
      number("count", link.count);
      number("bw", link.gb_per_s * 1000 / link.count);
      text_ += "/>\n";
    } else if (link.kind == LinkKind::nvlink || link.kind == LinkKind::xgmi) {
      const Node& target = graph_[link.to];
      const PciFacts* pci = pci_of(target);
      const bool to_switch = target.kind() == NodeKind::nvswitch;
      uint32_t target_class = to_switch ? 0x068000 : target.kind() == NodeKind::numa ? 0x068001 : 0x030200;
      if (!to_switch && pci != nullptr && pci->class_code != 0) target_class = pci->class_code;
      put(depth, link.kind == LinkKind::xgmi ? "<xgmi" : "<nvlink");
      attribute("target", pci != nullptr && !pci->address.empty() ? pci->address : "fffffff:ffff:ff");
      number("count", link.count);
      attribute("tclass", fmt::format("0x{:06x}", target_class));
      text_ += "/>\n";
    }
  }

  void write_ports(Index nic, int depth) {
    const std::vector<Index>& ports = children_[static_cast<size_t>(nic)];
    const bool class_tells = graph_.get<NicFacts>(nic)->pci.class_code >> 16 == 0x02;
    if (ports.empty() && class_tells) return;
    put(depth, "<nic>\n");
    for (const Index node : ports) {
      const auto& port = *graph_.get<PortFacts>(node);
      put(depth + 1, "<net");
      attribute("name", graph_[node].name);
      if (port.device >= 0) number("dev", port.device);
      if (port.latency_us > 0) number("latency", port.latency_us);
      if (port.mbit_per_s > 0) number("speed", port.mbit_per_s);
      number("port", port.number);
      if (port.guid != 0) attribute("guid", fmt::format("0x{:016x}", port.guid));
      if (port.most_connections > 0) number("maxconn", port.most_connections);
      number("gdr", port.gdr ? 1 : 0);
      if (port.in_network_reduction) number("coll", 1);
      if (port.rail >= 0) number("rail", port.rail);
      if (port.plane >= 0) number("plane", port.plane);
      text_ += "/>\n";
    }
    put(depth, "</nic>\n");
  }

  const NcclXml& file_;
  const Graph& graph_;
  std::vector<std::vector<Index>> children_;
  std::map<Index, std::vector<size_t>> links_;  ///< key: node at which the links begin
  size_t hosts_ = 0;
  std::string text_;
};

}  // namespace

std::string write_nccl_xml(const NcclXml& file) { return NcclWriter(file).write(); }

NcclDialect dialect_of(const Graph& graph) {
  for (const Index node : graph.all(NodeKind::gpu)) {
    const auto& gpu = *graph.get<GpuFacts>(node);
    if (gpu.arch.starts_with("gfx") || gpu.pci.vendor == 0x1002) return NcclDialect::rccl;
  }
  return NcclDialect::nccl;
}

}  // namespace weir::topology
