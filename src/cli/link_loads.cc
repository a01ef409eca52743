// SPDX-License-Identifier: Apache-2.0

#include "src/cli/link_loads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "topology/views/words.h"

namespace weir::cli {
namespace {

using topology::Graph;
using topology::Index;
using topology::NodeKind;

/// Name of the kind of node, with its article.
std::string kind_words(const Graph& graph, Index node) {
  switch (graph[node].kind()) {
    case NodeKind::host: return "a host";
    case NodeKind::package: return "a processor";
    case NodeKind::numa: return "a NUMA node";
    case NodeKind::bridge: return "a PCIe switch";
    case NodeKind::gpu: return "a GPU";
    case NodeKind::partition: return "a part of a GPU";
    case NodeKind::nvswitch: return "an NVSwitch";
    case NodeKind::nic: return "a NIC";
    case NodeKind::port: return "a port";
    case NodeKind::fabric_switch: break;
  }
  const int level = graph.get<topology::FabricSwitchFacts>(node)->level;
  return level == 1 ? "a leaf" : level == 2 ? "a spine" : "a switch";
}

topology::LinkKind kind_of(const Graph& graph, int32_t link) {
  return graph.links()[static_cast<size_t>(link)].kind;
}

const char* link_words(const Graph& graph, int32_t link) {
  constexpr std::array<const char*, topology::kLinkKinds> kWords = {
      "PCIe", "between processors", "NVLink", "xGMI", "C2C", "inside a device", "cable"};
  return link < 0 ? "link" : kWords[static_cast<size_t>(kind_of(graph, link))];
}

std::string node_words(const Graph& graph, Index node) {
  const Index host = graph.holder(node, NodeKind::host);
  const std::string own = topology::device_words(graph, node);
  return host == topology::kNone || host == node ? own : fmt::format("{} of {}", own, graph[host].name);
}

/// Rounds to three significant digits, so that nearly equal links form one group.
double rounded(double value) {
  if (value <= 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  return std::round(value / unit) * unit;
}

}  // namespace

std::vector<LinkGroup> group_links(const PlanTask& task, const std::vector<double>& edge_bytes) {
  const auto origin = [&](int32_t node) { return task.network.origin[static_cast<size_t>(node)]; };
  std::map<std::tuple<std::string, double, double>, LinkGroup> groups;
  for (size_t e = 0; e < edge_bytes.size(); ++e) {
    const algorithms::Edge& edge = task.network.edges[e];
    if (edge.link >= 0 && kind_of(task.graph, edge.link) == topology::LinkKind::inner) continue;
    const Index from = origin(edge.from), to = origin(edge.to);
    const double speed = static_cast<double>(edge.capacity) * algorithms::kCapacityUnit;
    std::string words = fmt::format("{} from {} to {}", link_words(task.graph, edge.link),
                                    kind_words(task.graph, from), kind_words(task.graph, to));
    LinkGroup& group = groups[{words, speed, rounded(edge_bytes[e])}];
    if (group.count++ == 0) {
      group.example = fmt::format("{} -> {}", node_words(task.graph, from), node_words(task.graph, to));
      group.words = std::move(words);
      group.gb_per_s = speed;
      group.bytes = edge_bytes[e];
      group.seconds = edge_bytes[e] / speed / 1e9;
    }
  }
  std::vector<LinkGroup> sorted;
  for (auto& [unused, group] : groups) {
    for (const std::string_view noun : {"cable", "link"}) {
      if (group.count > 1 && group.words.starts_with(noun)) group.words.insert(noun.size(), "s");
    }
    sorted.push_back(std::move(group));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const LinkGroup& a, const LinkGroup& b) { return a.seconds > b.seconds; });
  return sorted;
}

}  // namespace weir::cli
