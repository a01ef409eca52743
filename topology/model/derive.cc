// SPDX-License-Identifier: Apache-2.0

#include "topology/model/derive.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "topology/model/unions.h"

namespace weir::topology {
namespace {

bool is_device(const Graph& graph, Index node) {
  return graph[node].kind() == NodeKind::gpu || graph[node].kind() == NodeKind::partition;
}

/// Sets of GPUs, in the order of their first members.
Groups devices_by_set(const Graph& graph, Unions& sets) {
  Groups groups;
  std::unordered_map<Index, size_t> place;
  for (Index node = 0; node < graph.size(); ++node) {
    if (!is_device(graph, node)) continue;
    const auto [at, added] = place.try_emplace(sets.find(node), groups.size());
    if (added) groups.emplace_back();
    groups[at->second].push_back(node);
  }
  return groups;
}

bool joins_gpus(LinkKind kind) {
  return kind == LinkKind::nvlink || kind == LinkKind::xgmi || kind == LinkKind::inner;
}

/// The facts of a node that must be equal in hosts of one class: all but those that identify this very
/// device.
std::string shape(const Graph& graph, Index node, Index first) {
  const Node& own = graph[node];
  std::string text =
      fmt::format("{}<{}:", own.kind() == NodeKind::host ? kNone : own.parent - first, own.facts.index());
  const auto add = [&](const auto&... values) { ((text += fmt::format("{},", values)), ...); };
  if (const PciFacts* pci = pci_of(own)) {
    add(pci->class_code, pci->vendor, pci->device, pci->gt_per_s, pci->width, pci->most_gt_per_s,
        pci->most_width);
  }
  if (const auto* numa = graph.get<NumaFacts>(node)) {
    add(numa->number, numa->affinity, numa->cpu.arch, numa->cpu.vendor, numa->cpu.family, numa->cpu.model);
  } else if (const auto* bridge = graph.get<BridgeFacts>(node)) {
    add(bridge->root);
  } else if (const auto* gpu = graph.get<GpuFacts>(node)) {
    add(gpu->device, gpu->arch, gpu->units, gpu->gdr, gpu->package, gpu->model_name);
  } else if (const auto* partition = graph.get<PartitionFacts>(node)) {
    add(partition->number, partition->profile);
  } else if (const auto* port = graph.get<PortFacts>(node)) {
    add(port->device, port->number, port->mbit_per_s, port->latency_us, port->gdr, port->in_network_reduction,
        static_cast<int>(port->layer), port->active, port->rail, port->plane);
  }
  return text + ">";
}

}  // namespace

std::vector<Index> hosts_of(const Graph& graph) {
  std::vector<Index> hosts(static_cast<size_t>(graph.size()), kNone);
  for (Index node = 0; node < graph.size(); ++node) {
    const Index parent = graph[node].parent;
    if (graph[node].kind() == NodeKind::host) {
      hosts[static_cast<size_t>(node)] = node;
    } else if (parent != kNone) {
      hosts[static_cast<size_t>(node)] = hosts[static_cast<size_t>(parent)];
    }
  }
  return hosts;
}

Groups islands(const Graph& graph) {
  Unions sets(graph.size());
  const std::vector<Index> hosts = hosts_of(graph);
  for (Index node = 0; node < graph.size(); ++node) {
    const Index host = hosts[static_cast<size_t>(node)];
    if (is_device(graph, node) && host != kNone) sets.join(node, host);
  }
  for (const Link& link : graph.links()) {
    if (joins_gpus(link.kind) && graph[link.from].kind() != NodeKind::nic &&
        graph[link.to].kind() != NodeKind::nic)
      sets.join(link.from, link.to);
  }
  return devices_by_set(graph, sets);
}

Groups meshes(const Graph& graph) {
  Unions sets(graph.size());
  for (const Link& link : graph.links()) {
    const bool to_cpu = graph[link.from].kind() == NodeKind::numa || graph[link.to].kind() == NodeKind::numa;
    if (joins_gpus(link.kind) && !to_cpu) sets.join(link.from, link.to);
  }
  return devices_by_set(graph, sets);
}

std::vector<Leaf> leaves(const Graph& graph) {
  std::vector<Leaf> found;
  std::unordered_map<Index, size_t> place;
  for (Index node = 0; node < graph.size(); ++node) {
    const auto* facts = graph.get<FabricSwitchFacts>(node);
    if (facts == nullptr || facts->level != 1) continue;
    place[node] = found.size();
    found.emplace_back().fabric_switch = node;
  }
  const std::vector<Index> hosts = hosts_of(graph);
  for (const Link& link : graph.links()) {
    const auto at = place.find(link.from);
    const bool leads_out = link.kind == LinkKind::cable || link.kind == LinkKind::nvlink;
    if (!leads_out || at == place.end()) continue;
    Leaf& leaf = found[at->second];
    if (graph[link.to].kind() == NodeKind::fabric_switch) {
      leaf.up_gb_per_s += link.gb_per_s;
      continue;
    }
    leaf.down_gb_per_s += link.gb_per_s;
    leaf.ports.push_back(link.to);
    leaf.hosts.push_back(hosts[static_cast<size_t>(link.to)]);
  }
  for (Leaf& leaf : found) {
    for (std::vector<Index>* list : {&leaf.ports, &leaf.hosts}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
  }
  return found;
}

std::vector<int> groups_by_leaf(const std::vector<Leaf>& leaves, std::span<const Index> hosts) {
  std::map<Index, std::set<size_t>> leaves_of;  // key: host
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf)
    for (const Index host : leaves[leaf].hosts) leaves_of[host].insert(leaf);
  std::map<std::set<size_t>, int> numbers;
  std::vector<int> groups;
  for (const Index host : hosts)
    groups.push_back(numbers.try_emplace(leaves_of[host], static_cast<int>(numbers.size())).first->second);
  return groups;
}

Groups rails(const Graph& graph) {
  std::map<int, std::vector<Index>> given, counted;
  std::unordered_map<Index, int> next;
  const std::vector<Index> hosts = hosts_of(graph);
  for (Index node = 0; node < graph.size(); ++node) {
    const auto* port = graph.get<PortFacts>(node);
    if (port == nullptr || !port->active) continue;
    if (port->rail >= 0) given[port->rail].push_back(node);
    counted[next[hosts[static_cast<size_t>(node)]]++].push_back(node);
  }
  Groups groups;
  for (auto& [number, ports] : given.empty() ? counted : given) groups.push_back(std::move(ports));
  return groups;
}

std::vector<int> host_classes(const Graph& graph) {
  const std::vector<Index> host_of = hosts_of(graph);
  std::vector<Index> hosts = graph.all(NodeKind::host);
  std::unordered_map<Index, size_t> place;
  for (size_t i = 0; i < hosts.size(); ++i) place[hosts[i]] = i;
  // Nodes of a host that are scattered in the graph are numbered as if they were contiguous.
  std::vector<Index> rank_in_host(static_cast<size_t>(graph.size()), kNone);
  std::vector<std::string> shapes(hosts.size());
  std::vector<Index> counts(hosts.size());
  for (Index node = 0; node < graph.size(); ++node) {
    const Index host = host_of[static_cast<size_t>(node)];
    if (host == kNone) continue;
    const size_t at = place[host];
    rank_in_host[static_cast<size_t>(node)] = counts[at]++;
    const Index parent = graph[node].parent;
    const Index shift = parent == kNone ? 0 : parent - rank_in_host[static_cast<size_t>(parent)];
    shapes[at] += shape(graph, node, shift);
  }
  for (const Link& link : graph.links()) {
    const Index host = host_of[static_cast<size_t>(link.from)];
    if (host == kNone) continue;
    const bool inside = host_of[static_cast<size_t>(link.to)] == host;
    fmt::format_to(std::back_inserter(shapes[place[host]]), "{}-{}:{}x{}:{}:{};",
                   rank_in_host[static_cast<size_t>(link.from)],
                   inside ? rank_in_host[static_cast<size_t>(link.to)] : kNone, static_cast<int>(link.kind),
                   link.count, link.gb_per_s, link.latency_us);
  }
  std::unordered_map<std::string, int> classes;
  std::vector<int> result;
  for (const std::string& text : shapes)
    result.push_back(classes.try_emplace(text, static_cast<int>(classes.size())).first->second);
  return result;
}

}  // namespace weir::topology
