// SPDX-License-Identifier: Apache-2.0

#include "topology/views/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "src/base/text.h"
#include "topology/model/derive.h"
#include "topology/views/words.h"

namespace weir::topology {
namespace {

constexpr size_t kMostToldClasses = 3;  // the summary is one line

/// Counts of the nodes of one host that the summary mentions.
struct Parts {
  size_t numa = 0;
  std::vector<Index> gpus;
  size_t partitions = 0;
  size_t nics = 0;
  std::set<double> gbit_per_s;  ///< speeds of active ports
};

Parts count_parts(const Graph& graph, Index host) {
  const std::vector<Index> hosts = hosts_of(graph);
  Parts parts;
  for (Index node = 0; node < graph.size(); ++node) {
    if (hosts[static_cast<size_t>(node)] != host) continue;
    parts.numa += static_cast<size_t>(graph[node].kind() == NodeKind::numa);
    parts.partitions += static_cast<size_t>(graph[node].kind() == NodeKind::partition);
    parts.nics += static_cast<size_t>(graph[node].kind() == NodeKind::nic);
    if (graph[node].kind() == NodeKind::gpu) parts.gpus.push_back(node);
    const auto* port = graph.get<PortFacts>(node);
    if (port != nullptr && port->active && port->mbit_per_s > 0)
      parts.gbit_per_s.insert(port->mbit_per_s / 1000);
  }
  return parts;
}

/// The links between the GPUs besides PCIe: " joined by NVLink".
std::string joined(const Graph& graph, const std::vector<Index>& gpus) {
  std::set<std::string> kinds;
  for (const Link& link : graph.links()) {
    if (link.kind != LinkKind::nvlink && link.kind != LinkKind::xgmi) continue;
    if (!std::binary_search(gpus.begin(), gpus.end(), link.from)) continue;
    const bool switched = graph[link.to].kind() == NodeKind::nvswitch;
    kinds.insert(switched ? "NVSwitch" : link.kind == LinkKind::nvlink ? "NVLink" : "xGMI");
  }
  return kinds.empty() ? "" : fmt::format(" joined by {}", fmt::join(kinds, " and "));
}

std::string gpu_part(const Graph& graph, const Parts& parts) {
  if (parts.gpus.empty()) return "no GPU";
  std::set<std::string> models;
  for (const Index gpu : parts.gpus) models.insert(gpu_words(*graph.get<GpuFacts>(gpu)));
  models.erase("");
  std::string text = plural(parts.gpus.size(), "GPU");
  if (!models.empty()) text += fmt::format(" ({})", fmt::join(models, ", "));
  if (parts.partitions > 0) text += fmt::format(" with {}", plural(parts.partitions, "partition"));
  return text + joined(graph, parts.gpus);
}

std::string nic_part(const Parts& parts) {
  if (parts.nics == 0) return "no NIC";
  std::string text = plural(parts.nics, "NIC");
  if (!parts.gbit_per_s.empty()) text += fmt::format(" ({} Gb/s)", fmt::join(parts.gbit_per_s, ", "));
  return text;
}

/// "; 4 leaves, 2 spines, 2:1 oversubscribed"; empty if no switch is known.
std::string network_part(const Graph& graph) {
  std::map<int, int64_t> by_level;
  for (const Index node : graph.all(NodeKind::fabric_switch))
    ++by_level[graph.get<FabricSwitchFacts>(node)->level];
  std::vector<std::string> words;
  for (const auto& [level, count] : by_level) {
    const char* const what = level == 1 ? "leaf" : level == 2 ? "spine" : "switch";
    words.push_back(level == 1 || level == 2 ? plural(count, what)
                                             : fmt::format("{} of level {}", plural(count, what), level));
  }
  double worst = 0;
  for (const Leaf& leaf : leaves(graph)) worst = std::max(worst, leaf.oversubscription());
  if (worst > 1) words.push_back(fmt::format("{:.3g}:1 oversubscribed", worst));
  return words.empty() ? "" : fmt::format("; {}", fmt::join(words, ", "));
}

}  // namespace

std::string host_summary(const Graph& graph, Index host) {
  const Parts parts = count_parts(graph, host);
  std::vector<std::string> words;
  if (parts.numa > 0) words.push_back(plural(parts.numa, "NUMA node"));
  words.push_back(gpu_part(graph, parts));
  words.push_back(nic_part(parts));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string summary_of(const Graph& graph) {
  const std::vector<Index> hosts = graph.all(NodeKind::host);
  const std::vector<int> classes = host_classes(graph);
  std::vector<std::string> words;
  size_t told = 0;
  for (size_t i = 0; i < hosts.size(); ++i) {
    const auto first = std::find(classes.begin(), classes.end(), classes[i]) - classes.begin();
    if (static_cast<size_t>(first) != i) continue;  // counted with the first host of its class
    if (words.size() == kMostToldClasses) {
      words.push_back(fmt::format("{} of other kinds", plural(hosts.size() - told, "node")));
      break;
    }
    const auto alike = static_cast<size_t>(std::count(classes.begin(), classes.end(), classes[i]));
    told += alike;
    words.push_back(fmt::format("{} {} {}", plural(alike, "node"), alike == 1 ? "with" : "each with",
                                host_summary(graph, hosts[i])));
  }
  return fmt::format("{}{}", fmt::join(words, "; "), network_part(graph));
}

}  // namespace weir::topology
