// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>

#include "tests/topology/writers.h"
#include "topology/formats/hostlist.h"
#include "topology/formats/source.h"

namespace weir::topology {
namespace {

void write_topology(const SlurmTopology& topology, std::string& text) {
  if (!topology.switches.empty()) {
    text += "  tree:\n    switches:\n";
    for (const SlurmSwitch& one : topology.switches) {
      text += fmt::format("      - switch: {}\n", yaml_scalar(one.name));
      if (!one.switches.empty())
        text += fmt::format("        children: {}\n", yaml_scalar(compress_hostlist(one.switches)));
      if (!one.nodes.empty())
        text += fmt::format("        nodes: {}\n", yaml_scalar(compress_hostlist(one.nodes)));
    }
  } else if (!topology.blocks.empty()) {
    text += "  block:\n";
    if (!topology.block_sizes.empty())
      text += fmt::format("    block_sizes: [{}]\n", fmt::join(topology.block_sizes, ", "));
    text += "    blocks:\n";
    for (const SlurmBlock& block : topology.blocks) {
      text += fmt::format("      - block: {}\n", yaml_scalar(block.name));
      if (!block.nodes.empty())
        text += fmt::format("        nodes: {}\n", yaml_scalar(compress_hostlist(block.nodes)));
    }
  } else {
    text += "  flat: true\n";
  }
}

}  // namespace

std::string write_slurm_topology(const SlurmTopology& topology) {
  std::string text;
  for (const SlurmSwitch& one : topology.switches) {
    text += fmt::format("SwitchName={}", one.name);
    if (!one.nodes.empty()) text += fmt::format(" Nodes={}", compress_hostlist(one.nodes));
    if (!one.switches.empty()) text += fmt::format(" Switches={}", compress_hostlist(one.switches));
    if (one.link_speed >= 0) text += fmt::format(" LinkSpeed={}", one.link_speed);
    text += '\n';
  }
  for (const SlurmBlock& block : topology.blocks) {
    text += fmt::format("BlockName={}", block.name);
    if (!block.nodes.empty()) text += fmt::format(" Nodes={}", compress_hostlist(block.nodes));
    text += '\n';
  }
  if (!topology.block_sizes.empty())
    text += fmt::format("BlockSizes={}\n", fmt::join(topology.block_sizes, ","));
  return text;
}

std::string yaml_scalar(std::string_view text) {
  const auto safe = [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("-_./[],").find(c) < 7;
  };
  if (!text.empty() && is_letter(text.front()) && std::all_of(text.begin(), text.end(), safe))
    return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

std::string write_topology_yaml(const SlurmTopologies& topologies) {
  std::string text = "---\n";
  for (const SlurmTopologies::Named& named : topologies.list) {
    text += fmt::format("- topology: {}\n  cluster_default: {}\n", yaml_scalar(named.name),
                        named.cluster_default);
    write_topology(named.topology, text);
  }
  return text;
}

}  // namespace weir::topology
