// SPDX-License-Identifier: Apache-2.0
/// The C functions of weir/topology.h.
#include <fmt/format.h>

#include <algorithm>

#include "src/base/index.h"
#include "src/drivers/machine.h"
#include "src/planner_api/topology_object.h"
#include "topology/detect/detect.h"
#include "topology/detect/read_files.h"
#include "topology/formats/any.h"
#include "topology/model/paths.h"
#include "topology/views/json.h"

namespace weir::planner_api {
namespace {

using topology::Graph;
using topology::Index;
using topology::kNone;
using topology::PathClass;

// The numbers of weir/topology.h are those of the graph.
static_assert(static_cast<int>(NodeKind::fabric_switch) + 1 == topology::kNodeKinds);
static_assert(static_cast<int>(NodeKind::gpu) == static_cast<int>(topology::NodeKind::gpu));
static_assert(static_cast<int>(NodeKind::nic) == static_cast<int>(topology::NodeKind::nic));
static_assert(static_cast<int>(LinkKind::cable) + 1 == topology::kLinkKinds);
static_assert(static_cast<int>(LinkKind::xgmi) == static_cast<int>(topology::LinkKind::xgmi));

template <typename T>
List<T> list_of(const std::vector<T>& values) {
  return {values.data(), values.size()};
}

bool is_node(const Graph& graph, Index node, topology::NodeKind kind) {
  return node >= 0 && node < graph.size() && graph[node].kind() == kind;
}

const char* model_of(const Graph& graph, Index node) {
  if (const auto* gpu = graph.get<topology::GpuFacts>(node)) return gpu->model_name.c_str();
  if (const auto* nic = graph.get<topology::NicFacts>(node)) return nic->model_name.c_str();
  if (const auto* package = graph.get<topology::PackageFacts>(node)) return package->model_name.c_str();
  if (const auto* partition = graph.get<topology::PartitionFacts>(node)) return partition->profile.c_str();
  return "";
}

int number_of(const Graph& graph, Index node) {
  if (const auto* gpu = graph.get<topology::GpuFacts>(node)) return gpu->device;
  if (const auto* partition = graph.get<topology::PartitionFacts>(node)) return partition->number;
  return -1;
}

/// The node without what follows from those that hold it.
Node node_of(const Graph& graph, Index index) {
  Node node;
  node.kind = static_cast<NodeKind>(graph[index].kind());
  node.parent = graph[index].parent;
  node.number = number_of(graph, index);
  if (const auto* facts = graph.get<topology::FabricSwitchFacts>(index)) node.level = facts->level;
  node.name = graph[index].name.c_str();
  node.model = model_of(graph, index);
  if (const auto* pci = topology::pci_of(graph[index])) node.pci_address = pci->address.c_str();
  return node;
}

}  // namespace

TopologyObject::TopologyObject(Graph graph, std::vector<std::string> notes)
    : graph_(std::move(graph)),
      adjacency_(graph_),
      note_texts_(std::move(notes)),
      leaf_parts_(topology::leaves(graph_)),
      nodes_in_(at(graph_.size())),
      leaves_of_(at(graph_.size())) {
  host_list_ = graph_.all(topology::NodeKind::host);
  device_list_ = graph_.all(topology::NodeKind::gpu);
  if (device_list_.empty()) device_list_ = host_list_;
  fill_leaves();
  fill_nodes();
  fill_links();
  for (const std::string& note : note_texts_) note_list_.push_back(note.c_str());
  nodes = list_of(node_list_);
  links = list_of(link_list_);
  leaves = list_of(leaf_list_);
  hosts = list_of(host_list_);
  devices = list_of(device_list_);
  this->notes = list_of(note_list_);
}

void TopologyObject::fill_nodes() {
  const std::vector<Index> host_of = topology::hosts_of(graph_);
  for (Index index = 0; index < graph_.size(); ++index) {
    Node node = node_of(graph_, index);
    node.host = host_of[at(index)];
    if (node.host != kNone) nodes_in_[at(node.host)].push_back(index);
    if (const auto* numa = graph_.get<topology::NumaFacts>(index)) {
      node.numa = numa->number;
    } else if (node.parent != kNone) {
      node.numa = node_list_[at(node.parent)].numa;
    }
    node_list_.push_back(node);
  }
  const std::vector<int> groups = topology::groups_by_leaf(leaf_parts_, host_list_);
  for (size_t i = 0; i < groups.size(); ++i) node_list_[at(host_list_[i])].leaf_group = groups[i];
}

void TopologyObject::fill_links() {
  for (const topology::Link& link : graph_.links()) {
    link_list_.push_back(
        {link.from, link.to, static_cast<LinkKind>(link.kind), link.count, link.gb_per_s, link.latency_us});
  }
}

void TopologyObject::fill_leaves() {
  for (const topology::Leaf& leaf : leaf_parts_) {
    leaf_list_.push_back({leaf.fabric_switch, list_of(leaf.hosts), leaf.down_gb_per_s, leaf.up_gb_per_s});
    for (const Index host : leaf.hosts) {
      if (host != kNone) leaves_of_[at(host)].push_back(leaf.fabric_switch);
    }
  }
}

Graph TopologyObject::host_graph(Index host, std::vector<Index>& origin) const {
  origin = nodes_in_[at(host)];  // in ascending order, so that what holds a node comes first
  const auto place = [&](Index node) {
    const auto found = std::lower_bound(origin.begin(), origin.end(), node);
    return found != origin.end() && *found == node ? static_cast<Index>(found - origin.begin()) : kNone;
  };
  Graph part;
  for (const Index node : origin) {
    topology::Node copy = graph_[node];
    if (copy.parent != kNone) copy.parent = place(copy.parent);
    part.add(std::move(copy));
  }
  for (const Index node : origin) {
    for (const uint32_t number : adjacency_.from(node)) {
      topology::Link link = graph_.links()[number];
      link.from = place(link.from);
      link.to = place(link.to);
      if (link.to != kNone) part.add(link);
    }
  }
  return part;
}

std::vector<int> TopologyObject::nearest_nics(Index device) const {
  if (!is_node(graph_, device, topology::NodeKind::gpu) &&
      !is_node(graph_, device, topology::NodeKind::partition)) {
    return {};
  }
  if (node_list_[at(device)].host == kNone) return {};
  std::vector<Index> origin;
  const Graph host = host_graph(node_list_[at(device)].host, origin);
  std::vector<char> is_down(at(host.size())), is_up(at(host.size()));  // NICs, by the state of their ports
  for (const Index port : host.all(topology::NodeKind::port)) {
    const Index nic = host.holder(port, topology::NodeKind::nic);
    if (nic != kNone) (host.get<topology::PortFacts>(port)->active ? is_up : is_down)[at(nic)] = 1;
  }
  const auto own =
      static_cast<Index>(std::lower_bound(origin.begin(), origin.end(), device) - origin.begin());
  const topology::Adjacency adjacency(host);
  const topology::Paths paths(host, adjacency, own);
  auto nearest = PathClass::dis;
  std::vector<int> nics;
  for (const Index nic : host.all(topology::NodeKind::nic)) {
    const PathClass path_class = paths.path_class(nic);
    if (path_class == PathClass::dis || path_class > nearest || (is_down[at(nic)] && !is_up[at(nic)]))
      continue;
    if (path_class < nearest) nics.clear();
    nearest = path_class;
    nics.push_back(origin[at(nic)]);
  }
  return nics;
}

std::vector<int> TopologyObject::switches_above(Index host, int level) const {
  if (!is_node(graph_, host, topology::NodeKind::host) || level < 1) return {};
  std::vector<int> found = leaves_of_[at(host)];
  for (int own = 1; own < level && !found.empty(); ++own) {
    std::vector<int> above;
    for (const int lower : found) {
      for (const uint32_t link : adjacency_.from(lower)) {
        const Index to = graph_.links()[link].to;
        const auto* facts = graph_.get<topology::FabricSwitchFacts>(to);
        if (facts != nullptr && facts->level == own + 1) above.push_back(to);
      }
    }
    std::sort(above.begin(), above.end());
    above.erase(std::unique(above.begin(), above.end()), above.end());
    found = std::move(above);
  }
  return found;
}

Result<const TopologyObject*> topology_of(const weirTopology* handle) {
  if (handle != nullptr) return static_cast<const TopologyObject*>(handle);
  return Status(
      Code::invalid_argument,
      "the topology is empty; expected one from read_topology(), parse_topology() or detect_topology()");
}

namespace {

using Made = Result<std::unique_ptr<TopologyObject>>;

Made made_of(Result<Graph> graph, std::vector<std::string> notes) {
  WEIR_TRY(graph.status());
  return std::make_unique<TopologyObject>(std::move(*graph), std::move(notes));
}

Made read(const char* const* files, size_t count) {
  if (files == nullptr || count == 0)
    return Status(Code::invalid_argument, "no file is named; expected at least one topology file");
  const std::vector<std::string> names(files, files + count);
  topology::Notes notes;
  auto graph = topology::read_files(names, &notes);
  return made_of(std::move(graph), std::move(notes));
}

Made parse(std::string_view text, const char* name) {
  topology::Notes notes;
  auto graph = text.size() > topology::kMostBytes
                   ? Status(Code::invalid_argument, fmt::format("{} has {} bytes; expected at most {}", name,
                                                                text.size(), topology::kMostBytes))
                   : topology::read_any({name, text}, &notes);
  return made_of(std::move(graph), std::move(notes));
}

Made detect() {
  const auto machine = drivers::this_machine();
  topology::Detected detected = topology::detect(*machine);
  WEIR_TRY(machine->error());
  std::vector<std::string> notes;
  for (const topology::Finding& finding : detected.findings) {
    if (finding.kind == topology::Finding::Kind::doubt)
      notes.push_back(fmt::format("{}: {}", finding.probe, finding.sentence));
  }
  return made_of(std::move(detected.graph), std::move(notes));
}

size_t copy(const std::vector<int>& numbers, int* out, size_t most) {
  std::copy_n(numbers.begin(), std::min(numbers.size(), most), out);
  return numbers.size();
}

}  // namespace
}  // namespace weir::planner_api

using weir::planner_api::topology_of;

const weirTopology* weirTopologyRead(const char* const* files, size_t count, weirTextSink error,
                                     void* keeper) {
  return weir::planner_api::release(weir::planner_api::read(files, count), error, keeper);
}

const weirTopology* weirTopologyParse(const char* text, size_t size, const char* name, weirTextSink error,
                                      void* keeper) {
  return weir::planner_api::release(
      weir::planner_api::parse({text, text == nullptr ? 0 : size}, name == nullptr ? "the text" : name),
      error, keeper);
}

const weirTopology* weirTopologyDetect(weirTextSink error, void* keeper) {
  return weir::planner_api::release(weir::planner_api::detect(), error, keeper);
}

void weirTopologyFree(const weirTopology* topology) {
  delete static_cast<const weir::planner_api::TopologyObject*>(topology);
}

size_t weirTopologyNearestNics(const weirTopology* topology, int device, int* nodes, size_t most) {
  const auto object = topology_of(topology);
  return object.ok() ? weir::planner_api::copy((*object)->nearest_nics(device), nodes, most) : 0;
}

size_t weirTopologySwitches(const weirTopology* topology, int host, int level, int* nodes, size_t most) {
  const auto object = topology_of(topology);
  return object.ok() ? weir::planner_api::copy((*object)->switches_above(host, level), nodes, most) : 0;
}

void weirTopologyJson(const weirTopology* topology, weirTextSink text, void* keeper) {
  if (const auto object = topology_of(topology); object.ok())
    weir::planner_api::give(text, keeper, weir::topology::json_of((*object)->graph()));
}
