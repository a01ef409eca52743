// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "topology/formats/cpu_set.h"
#include "topology/formats/nvidia_smi.h"

namespace weir::topology {
namespace {

using smi::Groups;

const char* word(SmiPath path) {
  constexpr std::array<const char*, 8> kWords = {"unknown", "X", "NV", "PIX", "PXB", "PHB", "NODE", "SYS"};
  return kWords[static_cast<size_t>(path)];
}

/// Groups of devices by what they share, from near to far: a switch, the switch above, a root bridge, a NUMA
/// node.
struct Levels {
  explicit Levels(size_t size) : groups(4, Groups(size)) {}
  static constexpr std::array<SmiPath, 4> kPaths = {SmiPath::pix, SmiPath::pxb, SmiPath::phb, SmiPath::node};

  Groups& leaf() { return groups[0]; }
  Groups& upper() { return groups[1]; }
  Groups& root() { return groups[2]; }
  Groups& numa() { return groups[3]; }

  std::vector<Groups> groups;
};

class NvidiaSmiGraphBuilder {
 public:
  NvidiaSmiGraphBuilder(const NvidiaSmi& matrix, Notes* notes, const SmiOptions& options)
      : matrix_(matrix), notes_(notes), options_(options), size_(matrix.devices.size()), levels_(size_) {}

  Result<Graph> run();

 private:
  SmiPath pci_path(size_t a, size_t b) const;
  std::string affinity(size_t device) const;
  void join();
  Status check_cells();
  Status check_affinities();
  Status check_unsaid();
  std::string over(size_t a, size_t b, SmiPath path) const;
  std::vector<size_t> firsts(const Groups& groups, const std::vector<size_t>& among) const;
  std::vector<size_t> members(const Groups& groups, size_t first, const std::vector<size_t>& among) const;
  void add_numa(size_t first);
  void add_root(const std::vector<size_t>& devices, Index numa);
  Index add_bridge(Index parent, bool root);
  void add_device(size_t device, Index parent);
  Status add_nvlinks();
  void add_nvswitch(const std::vector<size_t>& gpus, int links);
  Status add_cables(const std::vector<size_t>& gpus);
  Status leave_out(const std::string& sentence) const {
    return smi::leave_out(notes_, "nvidia-smi: " + sentence);
  }
  const std::string& name(size_t device) const { return matrix_.devices[device].name; }
  SmiCell cell(size_t a, size_t b) const {
    const SmiCell& upper = matrix_.cells.at(std::min(a, b), std::max(a, b));
    return upper.path != SmiPath::unknown ? upper : matrix_.cells.at(std::max(a, b), std::min(a, b));
  }

  const NvidiaSmi& matrix_;
  Notes* notes_;
  const SmiOptions& options_;
  size_t size_;
  Levels levels_;
  Graph graph_;
  std::vector<Index> nodes_;
  int bridges_ = 0;
};

/// NVLink hides the PCIe path between two GPUs.
SmiPath NvidiaSmiGraphBuilder::pci_path(size_t a, size_t b) const {
  const SmiPath path = cell(a, b).path;
  return path == SmiPath::nvlink || path == SmiPath::self ? SmiPath::unknown : path;
}

/// Devices with the same affinity are on one NUMA node; empty: unknown.
std::string NvidiaSmiGraphBuilder::affinity(size_t device) const {
  const NvidiaSmiDevice& facts = matrix_.devices[device];
  const auto said = [](const std::string& text) { return !text.empty() && text != "N/A"; };
  if (said(facts.numa_affinity)) return "NUMA affinity " + facts.numa_affinity;
  return said(facts.cpu_affinity) ? "CPU affinity " + facts.cpu_affinity : "";
}

void NvidiaSmiGraphBuilder::join() {
  std::unordered_map<std::string, size_t> by_affinity;
  size_t unsaid = size_;
  for (size_t a = 0; a < size_; ++a) {
    bool known = false;
    for (size_t b = 0; b < size_; ++b) {
      const SmiPath path = pci_path(a, b);
      known = known || path != SmiPath::unknown;
      for (size_t level = 0; level < Levels::kPaths.size() && a < b; ++level) {
        if (path != SmiPath::unknown && path <= Levels::kPaths[level]) levels_.groups[level].join(a, b);
      }
    }
    if (const std::string said = affinity(a); !said.empty()) {
      levels_.numa().join(a, by_affinity.emplace(said, a).first->second);
    } else if (!known) {
      unsaid = std::min(unsaid, a);
      levels_.numa().join(a, unsaid);
    }
  }
}

/// " (over Z)": a device that is nearer to both than they are to each other.
std::string NvidiaSmiGraphBuilder::over(size_t a, size_t b, SmiPath path) const {
  const auto nearer = [&](size_t x, size_t y) {
    const SmiPath found = pci_path(x, y);
    return found != SmiPath::unknown && found < path;
  };
  for (size_t c = 0; c < size_; ++c) {
    if (nearer(a, c) && nearer(c, b)) return fmt::format(" (over {})", name(c));
  }
  return "";
}

Status NvidiaSmiGraphBuilder::check_cells() {
  std::string first;
  size_t wrong = 0;
  for (size_t a = 0; a < size_; ++a) {
    for (size_t b = a + 1; b < size_; ++b) {
      const SmiPath path = pci_path(a, b);
      const auto* const level =
          std::find_if(Levels::kPaths.begin(), Levels::kPaths.end(), [&](const SmiPath& p) {
            return levels_.groups[static_cast<size_t>(&p - Levels::kPaths.data())].joined(a, b);
          });
      if (path == SmiPath::unknown || level == Levels::kPaths.end() || *level >= path) continue;
      if (wrong++ > 0) continue;
      first = fmt::format("{} and {} have the path {}, but other cells or affinities imply {}{}", name(a),
                          name(b), word(path), word(*level), over(a, b, path));
    }
  }
  if (wrong == 0) return {};
  if (wrong > 1) first += fmt::format("; and {} more such pairs", wrong - 1);
  return leave_out(first + "; the nearer path is used");
}

Status NvidiaSmiGraphBuilder::check_affinities() {
  std::unordered_map<size_t, size_t> said_by;  // key: NUMA group; value: a device with an affinity
  for (size_t device = 0; device < size_; ++device) {
    const std::string own = affinity(device);
    if (own.empty()) continue;
    const size_t other = said_by.emplace(levels_.numa().of(device), device).first->second;
    if (affinity(other) == own) continue;
    return leave_out(fmt::format("the cells put {} and {} on one NUMA node, but one has {} and the other {}",
                                 name(other), name(device), affinity(other), own));
  }
  return {};
}

/// Notes pairs of NUMA nodes that might be one node, because nothing tells them apart.
Status NvidiaSmiGraphBuilder::check_unsaid() {
  std::vector<std::string> affinities(size_);  // affinity of the first device of each NUMA group
  for (size_t device = 0; device < size_; ++device) {
    std::string& of_group = affinities[levels_.numa().of(device)];
    if (of_group.empty()) of_group = affinity(device).substr(0, 4);
  }
  SmiMatrix<char> apart(size_);
  for (size_t a = 0; a < size_; ++a) {
    for (size_t b = 0; b < size_; ++b) {
      if (pci_path(a, b) == SmiPath::sys) apart.at(levels_.numa().of(a), levels_.numa().of(b)) = 1;
    }
  }
  for (size_t a = 0; a < size_; ++a) {
    for (size_t b = a + 1; b < size_; ++b) {
      if (levels_.numa().of(a) != a || levels_.numa().of(b) != b || apart.at(a, b) != 0) continue;
      if (!affinities[a].empty() && affinities[a] == affinities[b]) continue;
      return leave_out(fmt::format(
          "it is unknown whether {} and {} share a NUMA node; treated as two nodes, and so are similar pairs",
          name(a), name(b)));
    }
  }
  return {};
}

/// The first device of each group.
std::vector<size_t> NvidiaSmiGraphBuilder::firsts(const Groups& groups,
                                                  const std::vector<size_t>& among) const {
  std::vector<size_t> found;
  for (const size_t device : among) {
    if (groups.of(device) == device) found.push_back(device);
  }
  return found;
}

std::vector<size_t> NvidiaSmiGraphBuilder::members(const Groups& groups, size_t first,
                                                   const std::vector<size_t>& among) const {
  std::vector<size_t> found;
  for (const size_t device : among) {
    if (groups.of(device) == first) found.push_back(device);
  }
  return found;
}

Index NvidiaSmiGraphBuilder::add_bridge(Index parent, bool root) {
  BridgeFacts facts;
  facts.root = root;
  const Index bridge = graph_.add(fmt::format("bridge{}", bridges_++), parent, std::move(facts));
  graph_.connect({.from = bridge, .to = parent, .kind = LinkKind::pci});
  return bridge;
}

void NvidiaSmiGraphBuilder::add_device(size_t device, Index parent) {
  const NvidiaSmiDevice& facts = matrix_.devices[device];
  Index& node = nodes_[device];
  int number = -1;
  if (smi::parse_gpu(facts.name, number)) {
    GpuFacts gpu;
    gpu.device = number;
    node = graph_.add(facts.name, parent, std::move(gpu));
  } else {
    const std::string& called = facts.nic.empty() ? facts.name : facts.nic;
    node = graph_.add(called, parent, NicFacts{});
    const Index port = graph_.add(called, node, PortFacts{});
    graph_.connect({.from = node, .to = port, .kind = LinkKind::inner});
  }
  graph_.connect({.from = node, .to = parent, .kind = LinkKind::pci});
}

/// Adds a root bridge, and switches below it such that PIX pairs share one, and PXB pairs only the one above.
void NvidiaSmiGraphBuilder::add_root(const std::vector<size_t>& devices, Index numa) {
  const Index root = add_bridge(numa, true);
  for (const size_t upper : firsts(levels_.upper(), devices)) {
    const std::vector<size_t> below = members(levels_.upper(), upper, devices);
    const std::vector<size_t> leaves = firsts(levels_.leaf(), below);
    const Index above = leaves.size() > 1 ? add_bridge(root, false) : root;
    for (const size_t leaf : leaves) {
      const std::vector<size_t> together = members(levels_.leaf(), leaf, below);
      const bool alone = together.size() == 1 && leaves.size() == 1;
      const Index bridge = alone ? root : add_bridge(above, false);
      for (const size_t device : together) add_device(device, bridge);
    }
  }
}

void NvidiaSmiGraphBuilder::add_numa(size_t first) {
  std::vector<size_t> all(size_);
  std::iota(all.begin(), all.end(), size_t{0});
  const std::vector<size_t> devices = members(levels_.numa(), first, all);
  // If devices contradict each other, the node's property is unknown.
  const auto common = [&](std::string NvidiaSmiDevice::*field) {
    std::string text;
    for (const size_t device : devices) {
      const std::string& own = matrix_.devices[device].*field;
      if (own.empty() || own == "N/A" || own == text) continue;
      if (!text.empty()) return std::string();
      text = own;
    }
    return text;
  };
  NumaFacts facts;
  int64_t number = 0;
  if (parse_int(common(&NvidiaSmiDevice::numa_affinity), number) && number >= 0 && number <= INT32_MAX)
    facts.number = static_cast<int>(number);
  if (CpuSet cpus; CpuSet::parse_list(common(&NvidiaSmiDevice::cpu_affinity), cpus))
    facts.affinity = cpus.text();
  const std::string name =
      facts.number >= 0 ? fmt::to_string(facts.number) : fmt::format("of {}", this->name(first));
  const Index numa = graph_.add(name, 0, std::move(facts));
  for (const size_t root : firsts(levels_.root(), devices))
    add_root(members(levels_.root(), root, devices), numa);
}

void NvidiaSmiGraphBuilder::add_nvswitch(const std::vector<size_t>& gpus, int links) {
  const Index nvswitch = graph_.add(fmt::format("nvswitch of {}", name(gpus.front())), 0, NvSwitchFacts{});
  for (const size_t gpu : gpus) {
    graph_.connect({.from = nodes_[gpu], .to = nvswitch, .kind = LinkKind::nvlink, .count = links});
  }
}

Status NvidiaSmiGraphBuilder::add_cables(const std::vector<size_t>& gpus) {
  for (const size_t a : gpus) {
    int64_t total = 0;
    for (const size_t b : gpus) {
      const SmiCell own = cell(a, b);
      if (own.path != SmiPath::nvlink) continue;
      total += own.links;
      if (a > b) continue;
      graph_.connect({.from = nodes_[a], .to = nodes_[b], .kind = LinkKind::nvlink, .count = own.links});
    }
    if (total <= options_.most_nvlinks) continue;
    WEIR_TRY(
        leave_out(fmt::format("{} has {} NVLinks to other GPUs; expected at most {} per GPU; all are kept",
                              name(a), total, options_.most_nvlinks)));
  }
  return {};
}

Status NvidiaSmiGraphBuilder::add_nvlinks() {
  Groups groups(size_);
  std::vector<size_t> gpus;
  for (size_t a = 0; a < size_; ++a) {
    bool any = false;
    for (size_t b = 0; b < size_; ++b) {
      if (cell(a, b).path != SmiPath::nvlink) continue;
      any = true;
      groups.join(a, b);
    }
    if (any) gpus.push_back(a);
  }
  for (const size_t first : firsts(groups, gpus)) {
    const std::vector<size_t> together = members(groups, first, gpus);
    const int links = cell(together[0], together[1]).links;
    bool mesh = true;
    for (const size_t a : together) {
      for (const size_t b : together) mesh = mesh && (a == b || cell(a, b).links == links);
    }
    const int64_t needed = static_cast<int64_t>(links) * static_cast<int64_t>(together.size() - 1);
    if (mesh && together.size() > 2 && needed > options_.most_nvlinks) {
      add_nvswitch(together, links);
    } else {
      WEIR_TRY(add_cables(together));
    }
  }
  return {};
}

Result<Graph> NvidiaSmiGraphBuilder::run() {
  if (matrix_.cells.size() != size_ || size_ > kMostSmiDevices) {
    return Status(Code::invalid_argument,
                  fmt::format("nvidia-smi: {} devices and a matrix of {}; expected the same, at most {}",
                              size_, matrix_.cells.size(), kMostSmiDevices));
  }
  join();
  WEIR_TRY(check_cells());
  WEIR_TRY(check_affinities());
  WEIR_TRY(check_unsaid());
  graph_.add(options_.host, kNone, HostFacts{});
  nodes_.assign(size_, kNone);
  for (size_t device = 0; device < size_; ++device) {
    if (levels_.numa().of(device) == device) add_numa(device);
  }
  smi::connect_numas(graph_);
  WEIR_TRY(add_nvlinks());
  return std::move(graph_);
}

}  // namespace

Result<Graph> graph_of(const NvidiaSmi& matrix, Notes* notes, const SmiOptions& options) {
  return NvidiaSmiGraphBuilder(matrix, notes, options).run();
}

}  // namespace weir::topology
