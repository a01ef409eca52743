// SPDX-License-Identifier: Apache-2.0

#include "topology/views/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <vector>

#include "topology/model/derive.h"
#include "topology/model/paths.h"
#include "topology/model/rates.h"
#include "topology/views/words.h"

namespace weir::topology {
namespace {

class Tree {
 public:
  explicit Tree(const Graph& graph)
      : graph_(graph), adjacency_(graph), children_(static_cast<size_t>(graph.size())) {
    for (Index node = 0; node < graph.size(); ++node) {
      if (graph[node].parent != kNone) children_[static_cast<size_t>(graph[node].parent)].push_back(node);
    }
  }

  std::string print() {
    const std::vector<Index> hosts = graph_.all(NodeKind::host);
    const std::vector<int> classes = host_classes(graph_);
    for (size_t i = 0; i < hosts.size(); ++i) {
      const auto first =
          static_cast<size_t>(std::find(classes.begin(), classes.end(), classes[i]) - classes.begin());
      if (first != i) continue;
      const auto alike = std::count(classes.begin(), classes.end(), classes[i]);
      print_node(hosts[i], 0, alike > 1 ? fmt::format(" and {} more of the same class", alike - 1) : "");
      print_nearest(hosts[i]);
    }
    print_switches();
    return std::move(text_);
  }

 private:
  template <typename... Values>
  void line(int depth, fmt::format_string<Values...> format, Values&&... values) {
    text_.append(static_cast<size_t>(2 * depth), ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
  }

  void print_node(Index node, int depth, const std::string& more) {
    line(depth, "{}{}{}", device_words(graph_, node), details(node), more);
    for (const Index child : children_[static_cast<size_t>(node)]) print_node(child, depth + 1, "");
  }

  /// The facts of a node, each after a comma or a blank.
  std::string details(Index node) const {
    std::string text;
    const auto add = [&](const std::string& words) {
      if (!words.empty()) text.append(text.empty() ? "  " : ", ").append(words);
    };
    if (const auto* host = graph_.get<HostFacts>(node))
      add(host->hypervisor.empty() ? "" : fmt::format("virtual ({})", host->hypervisor));
    if (const auto* package = graph_.get<PackageFacts>(node)) add(package->model_name);
    if (const auto* numa = graph_.get<NumaFacts>(node)) {
      if (numa->memory_bytes > 0)
        add(fmt::format("{:.1f} GiB", static_cast<double>(numa->memory_bytes) / (1 << 30)));
      if (graph_[graph_[node].parent].kind() == NodeKind::host) add(cpu_words(numa->cpu));
    }
    if (const auto* gpu = graph_.get<GpuFacts>(node)) {
      add(gpu_words(*gpu));
      add(gpu->pci.address);
    }
    if (const PciFacts* pci = pci_of(graph_[node])) add(pcie_words(*pci));
    add(links(node));
    if (const auto* port = graph_.get<PortFacts>(node)) {
      add(port->mbit_per_s > 0 ? fmt::format("{} Gb/s", port->mbit_per_s / 1000) : "speed not known");
      if (!port->active) add("down");
      if (port->layer != PortLayer::unknown)
        add(port->layer == PortLayer::infiniband ? "InfiniBand" : "Ethernet");
      if (port->rail >= 0) add(fmt::format("rail {}", port->rail));
    }
    return text;
  }

  static std::string cpu_words(const CpuFacts& cpu) {
    if (cpu.vendor.empty()) return cpu.arch;
    const bool numbered = cpu.family >= 0;
    return fmt::format("{} {}{}", cpu.vendor, cpu.arch,
                       numbered ? fmt::format(" family {} model {}", cpu.family, cpu.model) : "");
  }

  /// "NVLink 100 GB/s"; "NVLink x4" if the speed is unknown; only the kind if it is no limit.
  static std::string strength(LinkKind kind, double gb_per_s, int count) {
    if (gb_per_s >= kInnerGbPerS) return name(kind);
    if (gb_per_s > 0) return fmt::format("{} {}", name(kind), bandwidth_words(gb_per_s));
    return count > 1 ? fmt::format("{} x{}", name(kind), count) : name(kind);
  }

  /// The upward PCIe link of a device; other links of a GPU, and links of a NUMA node to others: "NVLink 100
  /// GB/s to GPU 1 and GPU 4". NVSwitches are combined.
  std::string links(Index node) const {
    std::map<std::tuple<LinkKind, double, int>, std::vector<std::string>> by_kind;
    std::string text;
    Link to_switches{.kind = LinkKind::nvlink, .count = 0};
    int switches = 0;
    for (const uint32_t place : adjacency_.from(node)) {
      const Link& link = graph_.links()[place];
      if (link.kind == LinkKind::pci && link.to == graph_[node].parent && link.gb_per_s > 0 &&
          link.gb_per_s < kInnerGbPerS)
        text = bandwidth_words(link.gb_per_s);
      const NodeKind kind = graph_[node].kind();
      const bool between_gpus =
          link.kind != LinkKind::pci && link.kind != LinkKind::inner && link.kind != LinkKind::cpu;
      if (kind == NodeKind::gpu && between_gpus && graph_[link.to].kind() == NodeKind::nvswitch) {
        to_switches.gb_per_s += link.gb_per_s;
        to_switches.count += link.count;
        ++switches;
      } else if ((kind == NodeKind::gpu && between_gpus) || link.kind == LinkKind::cpu) {
        by_kind[{link.kind, link.gb_per_s, link.gb_per_s > 0 ? 1 : link.count}].push_back(
            device_words(graph_, link.to));
      }
    }
    const auto separate = [&] { text.append(text.empty() ? "" : ", "); };
    if (switches > 0) {
      separate();
      text += fmt::format("{} to {}", strength(LinkKind::nvlink, to_switches.gb_per_s, to_switches.count),
                          switches == 1 ? "an NVSwitch" : fmt::format("{} NVSwitches", switches));
    }
    for (const auto& [key, ends] : by_kind) {
      separate();
      text += std::apply(strength, key) + " to ";
      for (size_t i = 0; i < ends.size(); ++i)
        text.append(i == 0 ? "" : i + 1 == ends.size() ? " and " : ", ").append(ends[i]);
    }
    return text;
  }

  /// For each GPU the NICs of the nearest path class.
  void print_nearest(Index host) {
    const std::vector<Index> hosts = hosts_of(graph_);
    std::vector<Index> gpus, nics;
    for (Index node = host; node < graph_.size(); ++node) {
      if (hosts[static_cast<size_t>(node)] != host) continue;
      if (graph_[node].kind() == NodeKind::gpu) gpus.push_back(node);
      if (graph_[node].kind() == NodeKind::nic) nics.push_back(node);
    }
    if (gpus.empty() || nics.empty()) return;
    line(0, "\nnearest NICs");
    for (const Index gpu : gpus) {
      const Paths paths(graph_, adjacency_, gpu);
      PathClass nearest = PathClass::dis;
      for (const Index nic : nics) nearest = std::min(nearest, paths.path_class(nic));
      std::string names;
      for (const Index nic : nics) {
        if (paths.path_class(nic) == nearest) names.append(" ").append(nic_name(nic));
      }
      line(1, "{:<8} {:<4}{}", device_words(graph_, gpu), name(nearest), names);
    }
  }

  /// The names of a NIC's ports, else its own name.
  std::string nic_name(Index nic) const {
    std::string names;
    for (const Index port : children_[static_cast<size_t>(nic)])
      names.append(names.empty() ? "" : " ").append(graph_[port].name);
    return names.empty() ? graph_[nic].name : names;
  }

  void print_switches() {
    const std::vector<Leaf> all = leaves(graph_);
    if (all.empty()) return;
    line(0, "\nnetwork");
    const auto alike = [](const Leaf& a, const Leaf& b) {
      return a.hosts.size() == b.hosts.size() && a.ports.size() == b.ports.size() &&
             a.down_gb_per_s == b.down_gb_per_s && a.up_gb_per_s == b.up_gb_per_s;
    };
    for (size_t i = 0; i < all.size();) {
      size_t end = i + 1;
      while (end < all.size() && alike(all[i], all[end])) ++end;
      const Leaf& leaf = all[i];
      std::string names = graph_[leaf.fabric_switch].name;
      if (end - i > 1)
        names += fmt::format(" to {} ({} leaves)", graph_[all[end - 1].fabric_switch].name, end - i);
      line(1, "leaf {}  {} hosts, {} ports, {} down, {} up{}", names, leaf.hosts.size(), leaf.ports.size(),
           bandwidth_words(leaf.down_gb_per_s), bandwidth_words(leaf.up_gb_per_s),
           leaf.oversubscription() > 0 ? fmt::format(", {}:1", bandwidth_figure(leaf.oversubscription()))
                                       : "");
      i = end;
    }
    std::map<int, int> levels;
    for (const Index node : graph_.all(NodeKind::fabric_switch))
      ++levels[graph_.get<FabricSwitchFacts>(node)->level];
    for (const auto& [level, count] : levels) {
      if (level != 1)
        line(1, "{} {}{}", count, level == 2 ? "spine" : fmt::format("switch of level {}", level),
             count > 1 ? "s" : "");
    }
  }

  const Graph& graph_;
  const Adjacency adjacency_;
  std::vector<std::vector<Index>> children_;
  std::string text_;
};

}  // namespace

std::string tree_of(const Graph& graph) { return Tree(graph).print(); }

}  // namespace weir::topology
