// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "topology/formats/hostlist.h"
#include "topology/formats/levels.h"
#include "topology/formats/slurm_topology.h"

namespace weir::topology {
namespace {

using Places = std::unordered_map<std::string, size_t>;

/// Collects the names of switches or blocks, and checks that each is defined once.
template <typename T>
Status index_names(const std::vector<T>& list, const char* kind, const Refuse& refuse, Places& places) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (!is_plain_name(list[i].name))
      return refuse(i, fmt::format("{} is not a valid name of a {}", shown(list[i].name), kind));
    if (!places.emplace(list[i].name, i).second)
      return refuse(i, fmt::format("{} {} is defined a second time, and differently", kind, list[i].name));
  }
  return {};
}

/// Checks that every node is in one leaf or block.
template <typename T>
Status check_nodes(const std::vector<T>& list, const char* kind, const Refuse& refuse) {
  Places places;
  for (size_t i = 0; i < list.size(); ++i) {
    for (const std::string& node : list[i].nodes) {
      if (!is_plain_name(node)) return refuse(i, fmt::format("{} is not a valid node name", shown(node)));
      const auto [known, is_new] = places.emplace(node, i);
      if (is_new) continue;
      if (known->second == i)
        return refuse(i, fmt::format("node {} is in {} {} twice", node, kind, list[i].name));
      return refuse(i, fmt::format("node {} is in {} {} and in {} {}", node, kind, list[known->second].name,
                                   kind, list[i].name));
    }
  }
  return {};
}

/// Checks that no switch is below itself: leaves are removed until nothing is left.
Status check_cycles(const std::vector<SlurmSwitch>& switches, const Places& places, const Refuse& refuse) {
  std::vector<std::vector<size_t>> parents(switches.size());
  std::vector<size_t> children(switches.size());
  std::vector<size_t> free;
  for (size_t i = 0; i < switches.size(); ++i) {
    children[i] = switches[i].switches.size();
    for (const std::string& child : switches[i].switches) parents[places.at(child)].push_back(i);
    if (children[i] == 0) free.push_back(i);
  }
  for (size_t i = 0; i < free.size(); ++i) {
    for (const size_t parent : parents[free[i]]) {
      if (--children[parent] == 0) free.push_back(parent);
    }
  }
  if (free.size() == switches.size()) return {};
  // Every remaining switch has a remaining child: descending ends in a cycle.
  const auto left = [&](size_t i) { return children[i] > 0; };
  size_t at = 0;
  while (!left(at)) ++at;
  for (size_t step = 0; step < switches.size(); ++step) {
    for (const std::string& child : switches[at].switches) {
      if (!left(places.at(child))) continue;
      at = places.at(child);
      break;
    }
  }
  return refuse(at, fmt::format("switch {} is below itself; expected a tree", switches[at].name));
}

Status check_tree(const std::vector<SlurmSwitch>& switches, const Refuse& refuse) {
  Places places;
  WEIR_TRY(index_names(switches, "switch", refuse, places));
  for (size_t i = 0; i < switches.size(); ++i) {
    const SlurmSwitch& one = switches[i];
    if (!one.nodes.empty() && !one.switches.empty()) {
      return refuse(
          i, fmt::format("switch {} has both nodes and switches; expected only one of the two", one.name));
    }
    std::unordered_set<std::string> seen;
    for (const std::string& child : one.switches) {
      if (!places.contains(child))
        return refuse(i, fmt::format("switch {} is below {} but is not defined", child, one.name));
      if (!seen.insert(child).second)
        return refuse(i, fmt::format("switch {} is below {} twice", child, one.name));
    }
  }
  WEIR_TRY(check_nodes(switches, "switch", refuse));
  return check_cycles(switches, places, refuse);
}

void add_tree(const std::vector<SlurmSwitch>& switches, Graph& graph) {
  std::unordered_map<std::string, Index> indices;
  for (const SlurmSwitch& one : switches)
    indices.emplace(one.name, graph.add(one.name, kNone, FabricSwitchFacts{.level = 1}));
  for (const SlurmSwitch& one : switches) {
    const Index at = indices.at(one.name);
    for (const std::string& node : one.nodes)
      graph.connect({.from = graph.add(node, kNone, HostFacts{}), .to = at, .kind = LinkKind::cable});
    for (const std::string& child : one.switches)
      graph.connect({.from = indices.at(child), .to = at, .kind = LinkKind::cable});
  }
}

void add_blocks(const std::vector<SlurmBlock>& blocks, Graph& graph) {
  for (const SlurmBlock& block : blocks) {
    const Index at = graph.add(block.name, kNone, FabricSwitchFacts{.level = 1});
    for (const std::string& node : block.nodes)
      graph.connect({.from = graph.add(node, kNone, HostFacts{}), .to = at, .kind = LinkKind::nvlink});
  }
}

}  // namespace

Status slurm::check(const SlurmTopology& topology, const Refuse& refuse) {
  if (!topology.switches.empty() && !topology.blocks.empty())
    return refuse(0, "the topology has switches and blocks; expected only one of the two");
  if (!topology.block_sizes.empty() && topology.blocks.empty()) {
    if (topology.switches.empty())
      return {Code::invalid_argument, "the topology has sizes of blocks but no blocks"};
    return refuse(0, "the topology has sizes of blocks but no blocks");
  }
  if (!topology.switches.empty()) return check_tree(topology.switches, refuse);
  Places places;
  WEIR_TRY(index_names(topology.blocks, "block", refuse, places));
  return check_nodes(topology.blocks, "block", refuse);
}

std::string slurm::empty_sentence(const char* kind, const std::string& name) {
  return fmt::format("{} {} has no nodes{}; as in a skeleton for nodes that Slurm adds later", kind, name,
                     std::string_view(kind) == "switch" ? " and no switches" : "");
}

Result<Graph> graph_of(const SlurmTopology& topology) {
  WEIR_TRY(slurm::check(topology, refuse_item));
  if (topology.switches.empty() && topology.blocks.empty())
    return Status(Code::invalid_argument,
                  "the topology is flat: it does not describe how its nodes are connected");
  Graph graph;
  add_tree(topology.switches, graph);
  add_blocks(topology.blocks, graph);
  assign_levels(graph);
  return graph;
}

}  // namespace weir::topology
