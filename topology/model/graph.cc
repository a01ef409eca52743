// SPDX-License-Identifier: Apache-2.0

#include "topology/model/graph.h"

#include <fmt/format.h>

#include <array>

namespace weir::topology {

const char* name(NodeKind kind) {
  static constexpr std::array<const char*, kNodeKinds> kNames = {
      "host", "package", "NUMA node", "PCIe switch", "GPU", "partition", "NVSwitch", "NIC", "port", "switch"};
  return kNames[static_cast<size_t>(kind)];
}

const char* name(LinkKind kind) {
  static constexpr std::array<const char*, kLinkKinds> kNames = {"PCIe", "CPU",   "NVLink", "xGMI",
                                                                 "C2C",  "inner", "cable"};
  return kNames[static_cast<size_t>(kind)];
}

Index Graph::add(Node node) {
  nodes_.push_back(std::move(node));
  return size() - 1;
}

void Graph::connect(const Link& link) {
  links_.push_back(link);
  links_.push_back(link);
  std::swap(links_.back().from, links_.back().to);
}

std::vector<Index> Graph::all(NodeKind kind) const {
  std::vector<Index> found;
  for (Index i = 0; i < size(); ++i) {
    if ((*this)[i].kind() == kind) found.push_back(i);
  }
  return found;
}

Index Graph::holder(Index node, NodeKind kind) const {
  while (node != kNone && (*this)[node].kind() != kind) node = (*this)[node].parent;
  return node;
}

std::string Graph::describe(Index node) const {
  const Index host = holder(node, NodeKind::host);
  const std::string own = fmt::format("{} {}", topology::name((*this)[node].kind()), (*this)[node].name);
  return host == kNone || host == node ? own : fmt::format("host {}, {}", (*this)[host].name, own);
}

const PciFacts* pci_of(const Node& node) {
  switch (node.kind()) {
    case NodeKind::bridge: return &std::get<BridgeFacts>(node.facts).pci;
    case NodeKind::gpu: return &std::get<GpuFacts>(node.facts).pci;
    case NodeKind::nvswitch: return &std::get<NvSwitchFacts>(node.facts).pci;
    case NodeKind::nic: return &std::get<NicFacts>(node.facts).pci;
    default: return nullptr;
  }
}

Adjacency::Adjacency(const Graph& graph)
    : begin_(static_cast<size_t>(graph.size()) + 1), links_(graph.links().size()) {
  for (const Link& link : graph.links()) ++begin_[static_cast<size_t>(link.from) + 1];
  for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (uint32_t i = 0; i < graph.links().size(); ++i)
    links_[next[static_cast<size_t>(graph.links()[i].from)]++] = i;
}

}  // namespace weir::topology
