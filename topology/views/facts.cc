// SPDX-License-Identifier: Apache-2.0

#include "topology/views/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "src/base/text.h"
#include "topology/model/rates.h"
#include "topology/views/text.h"

namespace weir::topology {
namespace {

/// Lines of facts; each call adds one line.
class Sheet {
 public:
  explicit Sheet(std::string headline) : text_(std::move(headline)) {}

  template <typename... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    text_ += '\n';
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }
  void line_if(const std::string& name, const std::string& value) {
    if (!value.empty()) line("{} {}", name, value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_pci(Sheet& sheet, const PciFacts& pci) {
  sheet.line_if("PCI", pci.address);
  if (pci.vendor != 0 || pci.device != 0)
    sheet.line("vendor {:#06x}, device {:#06x}", pci.vendor, pci.device);
  if (pci.gt_per_s > 0 && pci.width > 0) {
    sheet.line("PCIe {} GT/s x{}: {}", figure(pci.gt_per_s), pci.width,
               rate(pcie_gb_per_s(pci.gt_per_s, pci.width)));
  }
  if (pci.most_gt_per_s > 0 && pci.most_width > 0 &&
      (pci.most_gt_per_s > pci.gt_per_s || pci.most_width > pci.width))
    sheet.line("could be {} GT/s x{}", figure(pci.most_gt_per_s), pci.most_width);
}

void add(Sheet& sheet, const HostFacts& host) {
  if (host.identity != 0) sheet.line("identity {:#x}", host.identity);
  sheet.line_if("under", host.hypervisor);
}

void add(Sheet& sheet, const CpuFacts& cpu) {
  sheet.line_if("architecture", cpu.arch);
  sheet.line_if("vendor", cpu.vendor);
  if (cpu.family >= 0 || cpu.model >= 0) sheet.line("family {}, model {}", cpu.family, cpu.model);
}

void add(Sheet& sheet, const PackageFacts& package) {
  sheet.line_if("model", package.model_name);
  add(sheet, package.cpu);
}

void add(Sheet& sheet, const NumaFacts& numa) {
  add(sheet, numa.cpu);
  sheet.line_if("processors", numa.affinity);
  if (numa.memory_bytes > 0)
    sheet.line("{} GiB of memory", figure(static_cast<double>(numa.memory_bytes) / (1 << 30)));
}

void add(Sheet& sheet, const BridgeFacts& bridge) {
  if (bridge.root) sheet.line("root complex");
  add_pci(sheet, bridge.pci);
}

void add(Sheet& sheet, const GpuFacts& gpu) {
  sheet.line_if("model", gpu.model_name);
  sheet.line_if("architecture", gpu.arch);
  if (gpu.units > 0) sheet.line("{} compute units", gpu.units);
  if (gpu.rank >= 0) sheet.line("rank {}", gpu.rank);
  if (gpu.package >= 0) sheet.line("package {}", gpu.package);
  if (gpu.gdr) sheet.line("NICs may read and write its memory");
  sheet.line_if("UUID", gpu.uuid);
  add_pci(sheet, gpu.pci);
}

void add(Sheet& sheet, const PartitionFacts& partition) {
  sheet.line_if("profile", partition.profile);
  sheet.line_if("UUID", partition.uuid);
}

void add(Sheet& sheet, const NvSwitchFacts& nvswitch) { add_pci(sheet, nvswitch.pci); }

void add(Sheet& sheet, const NicFacts& nic) {
  sheet.line_if("model", nic.model_name);
  add_pci(sheet, nic.pci);
}

void add(Sheet& sheet, const PortFacts& port) {
  static constexpr std::array<const char*, 3> kLayers = {"", "Ethernet", "InfiniBand"};
  sheet.line("{}", rate(speed_of(port)));
  sheet.line_if("layer", kLayers[static_cast<size_t>(port.layer)]);
  if (port.guid != 0) sheet.line("GUID {:#x}", port.guid);
}

void add(Sheet& sheet, const FabricSwitchFacts& facts) {
  if (facts.level > 0) sheet.line("level {}", facts.level);
  if (facts.ports > 0) sheet.line("{}", plural(facts.ports, "port"));
  if (facts.guid != 0) sheet.line("GUID {:#x}", facts.guid);
}

/// "port mlx5_0: 50 GB/s, InfiniBand, rail 0, down".
std::string port_line(const Graph& graph, Index node) {
  const auto& port = *graph.get<PortFacts>(node);
  std::string text = fmt::format("port {}: {}", graph[node].name, rate(speed_of(port)));
  if (port.layer != PortLayer::unknown)
    text += port.layer == PortLayer::ethernet ? ", Ethernet" : ", InfiniBand";
  if (port.rail >= 0) text += fmt::format(", rail {}", port.rail);
  if (port.plane >= 0) text += fmt::format(", plane {}", port.plane);
  if (port.latency_us > 0) text += fmt::format(", {} us", figure(port.latency_us));
  if (port.in_network_reduction) text += ", reduces in the network";
  if (!port.active) text += ", down";
  return text;
}

std::string only_child_line(const Graph& graph, Index node) {
  if (graph[node].kind() == NodeKind::port) return port_line(graph, node);
  const auto* partition = graph.get<PartitionFacts>(node);
  return partition == nullptr ? "" : fmt::format("partition {} {}", graph[node].name, partition->profile);
}

}  // namespace

std::vector<Bundle> bundles(const Graph& graph, const std::vector<int>& place, const LinkTraffic& traffic) {
  std::map<std::tuple<int, int, LinkKind>, Bundle> sums;
  const std::vector<double> busy = busy_shares(graph, traffic);
  for (size_t number = 0; number < graph.links().size(); ++number) {
    const Link& link = graph.links()[number];
    const int from = place[static_cast<size_t>(link.from)];
    const int to = place[static_cast<size_t>(link.to)];
    if (from < 0 || to < 0 || from == to) continue;
    const auto [at, added] =
        sums.try_emplace({std::min(from, to), std::max(from, to), link.kind},
                         Bundle{.a = std::min(from, to), .b = std::max(from, to), .kind = link.kind});
    Bundle& bundle = at->second;
    const double each = link.gb_per_s / link.count;
    if (added) bundle.each = each;
    if (std::abs(bundle.each - each) > 0.001 * each) bundle.each = 0;
    if (from < to) bundle.count += link.count;
    (from < to ? bundle.there : bundle.back) += link.gb_per_s;
    bundle.latency_us = std::max(bundle.latency_us, link.latency_us);
    if (traffic.empty()) continue;
    bundle.bytes += traffic.bytes[number];
    bundle.busy = std::max(bundle.busy, busy[number]);
  }
  std::vector<Bundle> found;
  found.reserve(sums.size());
  for (const auto& [key, bundle] : sums) found.push_back(bundle);
  return found;
}

bool is_limit(LinkKind kind, double gb_per_s) {
  return gb_per_s < kInnerGbPerS ||
         (kind != LinkKind::cpu && kind != LinkKind::inner && kind != LinkKind::pci);
}

std::string short_address(const std::string& address) {
  return address.starts_with("0000:") && address.size() > 5 ? address.substr(5) : address;
}

std::string label_of(const Graph& graph, Index node) {
  const Node& own = graph[node];
  if (const auto* gpu = graph.get<GpuFacts>(node); gpu != nullptr && gpu->device >= 0)
    return fmt::format("GPU {}", gpu->device);
  const std::string called = short_address(own.name);
  switch (own.kind()) {
    case NodeKind::fabric_switch:
    case NodeKind::host:
    case NodeKind::port: return called;
    case NodeKind::nvswitch: return called == "nvswitch" ? "NVSwitch" : "NVSwitch " + called;
    default: return fmt::format("{} {}", name(own.kind()), called);
  }
}

std::string processor_of(const Graph& graph, Index numa) {
  const Index package = graph.holder(numa, NodeKind::package);
  if (package != kNone && !graph.get<PackageFacts>(package)->model_name.empty())
    return graph.get<PackageFacts>(package)->model_name;
  const auto* facts = graph.get<NumaFacts>(numa);
  const CpuFacts& cpu = facts->cpu;
  return cpu.vendor + (cpu.vendor.empty() || cpu.arch.empty() ? "" : " ") + cpu.arch;
}

std::vector<std::vector<Index>> children_of(const Graph& graph) {
  std::vector<std::vector<Index>> children(static_cast<size_t>(graph.size()));
  for (Index node = 0; node < graph.size(); ++node) {
    if (graph[node].parent != kNone) children[static_cast<size_t>(graph[node].parent)].push_back(node);
  }
  return children;
}

std::vector<Index> ports_of(const std::vector<std::vector<Index>>& children, const Graph& graph, Index nic) {
  std::vector<Index> ports;
  for (const Index child : children[static_cast<size_t>(nic)]) {
    if (graph[child].kind() == NodeKind::port) ports.push_back(child);
  }
  return ports;
}

double speed_of(const PortFacts& port) { return port.mbit_per_s / 8000; }

std::string facts_of(const Graph& graph, const std::vector<std::vector<Index>>& children, Index node) {
  Sheet sheet(label_of(graph, node));
  std::visit([&](const auto& facts) { add(sheet, facts); }, graph[node].facts);
  size_t lines = 0;
  if (graph[node].kind() != NodeKind::nic && graph[node].kind() != NodeKind::gpu) return sheet.take();
  for (const Index child : children[static_cast<size_t>(node)]) {
    const std::string text = only_child_line(graph, child);
    if (text.empty()) continue;
    if (++lines > kMostFactLines) break;
    sheet.line("{}", text);
  }
  if (lines > kMostFactLines) sheet.line("and more");
  return sheet.take();
}

std::string facts_of(const Graph& graph, const std::vector<Index>& nodes, const std::string& headline) {
  Sheet sheet(headline);
  for (size_t i = 0; i < std::min(nodes.size(), kMostFactLines); ++i) {
    const PciFacts* pci = pci_of(graph[nodes[i]]);
    const std::string label = label_of(graph, nodes[i]);
    if (pci == nullptr || pci->address.empty() || pci->address == graph[nodes[i]].name) {
      sheet.line("{}", label);
    } else {
      sheet.line("{}, PCI {}", label, pci->address);
    }
  }
  if (nodes.size() > kMostFactLines) sheet.line("and {} more", nodes.size() - kMostFactLines);
  return sheet.take();
}

std::string facts_of(const Bundle& bundle, const std::string& a, const std::string& b) {
  const auto headline = [](const std::string& facts) { return facts.substr(0, facts.find('\n')); };
  Sheet sheet(fmt::format("{}: {} \xe2\x80\x93 {}", name(bundle.kind), headline(a), headline(b)));
  const char* what = bundle.kind == LinkKind::cable ? "cable" : "link";
  std::string how_many = plural(bundle.count, what);
  if (bundle.count > 1 && bundle.each > 0) how_many += fmt::format(" of {}", rate(bundle.each));
  if (!is_limit(bundle.kind, bundle.gb_per_s())) {
    sheet.line("{}: never the limit", how_many);
  } else if (bundle.there <= 0 && bundle.back <= 0) {
    sheet.line("{}, speed not known", how_many);
  } else if (std::abs(bundle.there - bundle.back) <= 0.001 * bundle.there) {
    sheet.line("{}: {} in each direction", how_many, rate(bundle.there));
  } else {
    sheet.line("{}: {} there, {} back", how_many, rate(bundle.there), rate(bundle.back));
  }
  if (bundle.latency_us > 0) sheet.line("latency {} us", figure(bundle.latency_us));
  if (bundle.busy >= 0)
    sheet.line("carries {} GB both ways, busy {:.3g}% of the time of the busiest link",
               figure(bundle.bytes / 1e9), bundle.busy * 100);
  return sheet.take();
}

}  // namespace weir::topology
