// SPDX-License-Identifier: Apache-2.0

#include "topology/model/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "topology/model/derive.h"
#include "topology/model/paths.h"
#include "topology/model/rates.h"

namespace weir::topology {
namespace {

using Weight = Diagnosis::Weight;

/// The most frequent value; of several the greatest. REQUIRES: not empty.
template <typename T>
T usual(const std::map<T, int>& counts) {
  auto best = counts.begin();
  for (auto at = counts.begin(); at != counts.end(); ++at) {
    if (at->second >= best->second) best = at;
  }
  return best->first;
}

std::string list(const std::vector<std::string>& names) {
  constexpr size_t kMost = 6;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i)
    text.append(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ").append(names[i]);
  return names.size() > kMost ? fmt::format("{} and {} more", text, names.size() - kMost) : text;
}

class Diagnoser {
 public:
  explicit Diagnoser(const Graph& graph) : graph_(graph) {}

  std::vector<Diagnosis> run() {
    slow_pcie();
    ports_that_are_down();
    far_nics();
    different_hosts();
    cables();
    oversubscription();
    std::stable_sort(diagnoses_.begin(), diagnoses_.end(),
                     [](const Diagnosis& a, const Diagnosis& b) { return a.weight < b.weight; });
    return std::move(diagnoses_);
  }

 private:
  void say(Weight weight, std::string finding, std::string remedy) {
    diagnoses_.push_back({weight, std::move(finding), std::move(remedy)});
  }

  void slow_pcie() {
    for (Index node = 0; node < graph_.size(); ++node) {
      const PciFacts* pci = pci_of(graph_[node]);
      if (pci == nullptr || pci->gt_per_s <= 0 || pci->most_gt_per_s <= 0) continue;
      const bool narrow = pci->width < pci->most_width;
      if (!narrow && pci->gt_per_s >= pci->most_gt_per_s) continue;
      const bool gpu = graph_[node].kind() == NodeKind::gpu;
      // An idle GPU lowers the rate of its link by itself, but never the width.
      const bool maybe_idle = gpu && !narrow;
      say(maybe_idle ? Weight::notable : Weight::wrong,
          fmt::format("{} has a PCIe x{} link at {} GT/s ({:.1f} GB/s), but x{} at {} GT/s ({:.1f} GB/s) "
                      "would be possible",
                      graph_.describe(node), pci->width, pci->gt_per_s,
                      pcie_gb_per_s(pci->gt_per_s, pci->width), pci->most_width, pci->most_gt_per_s,
                      pcie_gb_per_s(pci->most_gt_per_s, pci->most_width)),
          maybe_idle ? "check again under load: an idle GPU slows its link down"
                     : "reseat the adapter, try another slot or riser, and check bifurcation and link speed "
                       "in the firmware's settings");
    }
  }

  void ports_that_are_down() {
    std::vector<std::string> down;
    for (const Index node : graph_.all(NodeKind::port)) {
      if (!graph_.get<PortFacts>(node)->active) down.push_back(graph_.describe(node));
    }
    if (!down.empty())
      say(Weight::notable,
          fmt::format("{} {} down: {}", down.size(), down.size() == 1 ? "port is" : "ports are", list(down)),
          "if they should be in use, check the cable and the switch's port");
  }

  /// Finds GPUs without a near NIC.
  void far_nics() {
    const Adjacency adjacency(graph_);
    const std::vector<int> classes = host_classes(graph_);
    const std::vector<Index> hosts = graph_.all(NodeKind::host), holder = hosts_of(graph_);
    for (size_t i = 0; i < hosts.size(); ++i) {
      if (std::find(classes.begin(), classes.begin() + static_cast<ptrdiff_t>(i), classes[i]) !=
          classes.begin() + static_cast<ptrdiff_t>(i)) {
        continue;  // a host of the same class was examined
      }
      std::vector<Index> nics;
      for (const Index nic : graph_.all(NodeKind::nic)) {
        if (holder[static_cast<size_t>(nic)] == hosts[i]) nics.push_back(nic);
      }
      std::vector<std::string> far;
      for (const Index gpu : graph_.all(NodeKind::gpu)) {
        if (holder[static_cast<size_t>(gpu)] != hosts[i] || nics.empty()) continue;
        const Paths paths(graph_, adjacency, gpu);
        PathClass nearest = PathClass::dis;
        for (const Index nic : nics) nearest = std::min(nearest, paths.path_class(nic));
        if (nearest >= PathClass::sys) far.push_back(graph_[gpu].name);
      }
      if (far.empty()) continue;
      say(Weight::wrong,
          fmt::format("in {} every NIC is on a different NUMA node than GPU {}", graph_.describe(hosts[i]),
                      list(far)),
          "network traffic of these GPUs crosses the processors; move a NIC to a slot of that NUMA node if "
          "it has one");
    }
  }

  void different_hosts() {
    const std::vector<int> classes = host_classes(graph_);
    const std::vector<Index> hosts = graph_.all(NodeKind::host);
    // Hosts known only from their network cannot be compared.
    std::vector<bool> seen(static_cast<size_t>(graph_.size()));
    for (const Index numa : graph_.all(NodeKind::numa))
      seen[static_cast<size_t>(graph_.holder(numa, NodeKind::host))] = true;
    std::map<int, std::vector<std::string>> members;
    for (size_t i = 0; i < hosts.size(); ++i) {
      if (seen[static_cast<size_t>(hosts[i])]) members[classes[i]].push_back(graph_[hosts[i]].name);
    }
    if (members.size() < 2) return;
    const auto most = std::max_element(members.begin(), members.end(), [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    for (const auto& [number, names] : members) {
      if (number == most->first) continue;
      say(Weight::notable,
          fmt::format("{} {} different hardware from the {} hosts like {}", list(names),
                      names.size() == 1 ? "has" : "have", most->second.size(), most->second.front()),
          "compare them with weir topo; the slowest host limits every collective");
    }
  }

  /// Compares cables between a leaf and a spine with those of other pairs, and ports of hosts with other
  /// ports.
  void cables() {
    struct Bundle {
      int count = 0;
      double gb_per_s = 0;
    };
    std::map<std::pair<Index, Index>, Bundle> bundles;
    std::map<double, int> port_speeds;
    for (const Link& link : graph_.links()) {
      if (link.kind != LinkKind::cable) continue;
      const auto* from = graph_.get<FabricSwitchFacts>(link.from);
      const auto* to = graph_.get<FabricSwitchFacts>(link.to);
      if (from != nullptr && to != nullptr && to->level == from->level + 1 && from->level > 0) {
        Bundle& bundle = bundles[{link.from, link.to}];
        bundle.count += link.count;
        bundle.gb_per_s += link.gb_per_s;
      } else if (from == nullptr && to != nullptr) {
        ++port_speeds[link.gb_per_s];
      }
    }
    uneven_bundles(bundles);
    if (port_speeds.size() < 2) return;
    const double expected = usual(port_speeds);
    for (const Link& link : graph_.links()) {
      if (link.kind != LinkKind::cable || graph_[link.from].kind() == NodeKind::fabric_switch ||
          link.gb_per_s >= expected)
        continue;
      say(Weight::wrong,
          fmt::format("the cable of {} to {} runs at {:.4g} GB/s, most others at {:.4g} GB/s",
                      graph_.describe(link.from), graph_[link.to].name, link.gb_per_s, expected),
          "clean or replace the cable, and check the port's error counters");
    }
  }

  template <typename Bundles>
  void uneven_bundles(const Bundles& bundles) {
    if (bundles.empty()) return;
    std::map<int, int> counts;
    std::map<double, int> speeds;
    for (const auto& [ends, bundle] : bundles) {
      ++counts[bundle.count];
      ++speeds[bundle.gb_per_s / bundle.count];
    }
    const int expected = usual(counts);
    const double speed = usual(speeds);
    for (const auto& [ends, bundle] : bundles) {
      const std::string where =
          fmt::format("between {} and {}", graph_[ends.first].name, graph_[ends.second].name);
      if (bundle.count < expected) {
        say(Weight::wrong,
            fmt::format("{} there {} of {} cables", where,
                        bundle.count == 1 ? "is 1" : fmt::format("are {}", bundle.count), expected),
            "check for a broken or missing cable, or a disabled port");
      }
      if (bundle.gb_per_s < speed * bundle.count * 0.999) {
        say(Weight::wrong,
            fmt::format("cables {} run at {:.4g} GB/s, most others at {:.4g} GB/s", where,
                        bundle.gb_per_s / bundle.count, speed),
            "clean or replace the cable, and check the port's error counters");
      }
    }
    missing_pairs(bundles);
  }

  /// Finds pairs without a cable, if nearly all pairs have one.
  template <typename Bundles>
  void missing_pairs(const Bundles& bundles) {
    std::map<int, std::pair<std::vector<Index>, std::vector<Index>>> levels;
    for (const auto& [ends, bundle] : bundles) {
      auto& [lower, upper] = levels[graph_.get<FabricSwitchFacts>(ends.first)->level];
      lower.push_back(ends.first);
      upper.push_back(ends.second);
    }
    for (auto& [level, sets] : levels) {
      for (std::vector<Index>* set : {&sets.first, &sets.second}) {
        std::sort(set->begin(), set->end());
        set->erase(std::unique(set->begin(), set->end()), set->end());
      }
      std::vector<std::pair<Index, Index>> missing;
      for (const Index lower : sets.first) {
        for (const Index upper : sets.second) {
          if (!bundles.contains({lower, upper})) missing.emplace_back(lower, upper);
        }
      }
      // A fabric of several planes has many pairs without a cable by design; a few indicate faults.
      if (missing.size() * 10 > sets.first.size() * sets.second.size()) continue;
      for (const auto& [lower, upper] : missing) {
        say(Weight::wrong,
            fmt::format("there is no cable between {} and {}, although nearly all similar pairs have one",
                        graph_[lower].name, graph_[upper].name),
            "check for a broken or missing cable, or a disabled port");
      }
    }
  }

  void oversubscription() {
    std::map<int, std::vector<std::string>> by_ratio;  // key: ratio in hundredths
    for (const Leaf& leaf : leaves(graph_)) {
      const double ratio = leaf.oversubscription();
      if (ratio > 1.01)
        by_ratio[static_cast<int>(ratio * 100 + 0.5)].push_back(graph_[leaf.fabric_switch].name);
    }
    for (const auto& [ratio, names] : by_ratio) {
      say(Weight::notable,
          fmt::format("{} {} oversubscribed {:.4g}:1 (bandwidth to hosts : bandwidth to upper switches)",
                      list(names), names.size() == 1 ? "is" : "are", ratio / 100.0),
          "place ranks that communicate much on one leaf");
    }
  }

  const Graph& graph_;
  std::vector<Diagnosis> diagnoses_;
};

}  // namespace

std::vector<Diagnosis> diagnose(const Graph& graph) { return Diagnoser(graph).run(); }

}  // namespace weir::topology
