// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "topology/formats/hwloc_xml_build.h"
#include "topology/formats/hwloc_xml_fields.h"
#include "topology/formats/hwloc_xml_kinds.h"
#include "topology/model/rates.h"

namespace weir::topology {
namespace hwloc {
namespace {

/// Maximum number of NUMA nodes: all are connected pairwise, so that more would mean a quadratic number of
/// links, and no real machine has more.
constexpr size_t kMostNumas = 1024;

struct Processors {
  std::vector<const HwlocObject*> packages;
  std::vector<const HwlocObject*> numas;
};

// The recursion is bounded by the reader's depth limit.
void collect(const HwlocObject& object, Processors& found) {
  if (object.type == "Package" || object.type == "Socket") found.packages.push_back(&object);
  if (object.type == "NUMANode") found.numas.push_back(&object);
  for (const HwlocObject& child : object.children) {
    if (!is_device(child)) collect(child, found);
  }
}

const std::string* machine_info(const HwlocXml& document, std::string_view name) {
  const std::string* of_object = find(document.machine.infos, name);
  return of_object != nullptr ? of_object : find(document.infos, name);
}

/// hwloc reports the architecture name of uname.
std::string arch_of(const std::string* text) {
  if (text == nullptr) return "";
  if (*text == "aarch64") return "arm64";
  if (text->starts_with("ppc64")) return "ppc64";
  return *text;
}

Status read_number(const Build& build, const HwlocPairs& infos, const char* name, int& number) {
  const std::string* text = find(infos, name);
  int64_t read = 0;
  if (text == nullptr) return {};
  if (!parse_int(*text, read) || read < 0 || read > 0xffff) {
    return build.leave_out(
        fmt::format("{} is \"{}\"; expected a whole number; ignored", name, text->substr(0, 100)));
  }
  number = static_cast<int>(read);
  return {};
}

Status read_cpu(const Build& build, const HwlocPairs& infos, PackageFacts& package) {
  CpuFacts& cpu = package.cpu;
  cpu.arch = arch_of(machine_info(build.document, "Architecture"));
  if (const std::string* vendor = find(infos, "CPUVendor"); vendor != nullptr) cpu.vendor = *vendor;
  if (const std::string* model = find(infos, "CPUModel"); model != nullptr) package.model_name = trim(*model);
  WEIR_TRY(read_number(build, infos, "CPUFamilyNumber", cpu.family));
  WEIR_TRY(read_number(build, infos, "CPUModelNumber", cpu.model));
  // hwloc adds CPUID's extended family to the family, NCCL shifts it by four bits.
  constexpr int kExtended = 15;
  if (cpu.family > kExtended) cpu.family = kExtended + ((cpu.family - kExtended) << 4);
  return {};
}

/// A package in the graph, with its processors.
struct Package {
  Index node = kNone;
  CpuSet cpus;
};

CpuSet cpus_of(const HwlocObject& object) {
  CpuSet cpus;
  if (!object.cpuset.empty()) CpuSet::parse_words(object.cpuset, cpus);
  return cpus;
}

Status add_packages(Build& build, const Processors& found, std::vector<Package>& packages) {
  for (const HwlocObject* object : found.packages) {
    PackageFacts facts;
    facts.number = object->os_index <= INT32_MAX ? static_cast<int>(object->os_index) : -1;
    const bool own =
        find(object->infos, "CPUModel") != nullptr || find(object->infos, "CPUVendor") != nullptr;
    WEIR_TRY(read_cpu(build, own ? object->infos : build.document.machine.infos, facts));
    const std::string name = facts.number >= 0 ? fmt::to_string(facts.number) : "unnumbered";
    const Index node =
        build.graph.add(build.free_name(build.host, NodeKind::package, name), build.host, std::move(facts));
    packages.push_back({node, cpus_of(*object)});
  }
  return {};
}

/// The package that alone contains processors of the set, or the host.
Index holder_of(const Build& build, const std::vector<Package>& packages, const CpuSet& cpus) {
  Index holder = kNone;
  for (const Package& package : packages) {
    if (!package.cpus.intersects(cpus)) continue;
    if (holder != kNone) return build.host;
    holder = package.node;
  }
  return holder == kNone ? build.host : holder;
}

Status add_numa(Build& build, const std::vector<Package>& packages, const HwlocObject& object, int number) {
  CpuSet cpus = cpus_of(object);
  if (cpus.all_above())
    return build.refuse(fmt::format("NUMA node {} has an unbounded set of processors", number));
  const Index parent = packages.size() == 1 ? packages[0].node : holder_of(build, packages, cpus);
  NumaFacts facts;
  facts.number = number;
  if (!object.cpuset.empty()) facts.affinity = cpus.text();
  facts.memory_bytes = static_cast<uint64_t>(std::max<int64_t>(object.local_memory, 0));
  if (const auto* package = build.graph.get<PackageFacts>(parent); package != nullptr) {
    facts.cpu = package->cpu;
  } else {
    PackageFacts whole;
    WEIR_TRY(read_cpu(build, build.document.machine.infos, whole));
    facts.cpu = packages.empty() ? whole.cpu : build.graph.get<PackageFacts>(packages[0].node)->cpu;
  }
  const std::string name = build.free_name(parent, NodeKind::numa, fmt::to_string(number));
  const Index node = build.graph.add(name, parent, std::move(facts));
  // Memory of two kinds at one position (HBM beside DRAM) is two nodes: devices belong to the first.
  const bool is_second = std::any_of(build.numas.begin(), build.numas.end(),
                                     [&cpus](const Numa& other) { return other.cpus == cpus; });
  if ((object.cpuset.empty() || !cpus.empty()) && !is_second) build.numas.push_back({node, std::move(cpus)});
  return {};
}

/// Inside a package nothing limits; if nothing is known about the processors, the package is unknown as well.
double between_gb_per_s(const Graph& graph, Index a, Index b) {
  const Index package = graph.holder(a, NodeKind::package);
  if (package != kNone && package == graph.holder(b, NodeKind::package)) return kInnerGbPerS;
  const CpuFacts& cpu = graph.get<NumaFacts>(a)->cpu;
  return cpu.arch.empty() && cpu.vendor.empty() ? 0 : between_packages_gb_per_s(cpu);
}

void connect_numas(Build& build) {
  std::vector<Index> with_processors;
  for (const Index node : build.graph.all(NodeKind::numa)) {
    const std::string& affinity = build.graph.get<NumaFacts>(node)->affinity;
    const bool has_none = !affinity.empty() && affinity.find_first_not_of("0,") == std::string::npos;
    if (!has_none) with_processors.push_back(node);
  }
  for (size_t i = 0; i < with_processors.size(); ++i) {
    for (size_t j = i + 1; j < with_processors.size(); ++j)
      build.graph.connect(
          {.from = with_processors[i],
           .to = with_processors[j],
           .kind = LinkKind::cpu,
           .gb_per_s = between_gb_per_s(build.graph, with_processors[i], with_processors[j])});
  }
}

}  // namespace

Status Build::leave_out(const std::string& sentence) const {
  Status refused = refuse(sentence);
  if (notes == nullptr) return refused;
  notes->push_back(refused.message());
  return {};
}

std::string Build::free_name(Index parent, NodeKind kind, const std::string& name) {
  int& used = names[fmt::format("{}/{}/{}", parent, static_cast<int>(kind), name)];
  return ++used == 1 ? name : fmt::format("{}#{}", name, used);
}

const DevicePosition& Build::place_of(const HwlocObject& object) {
  const auto [found, is_new] = places.try_emplace(&object);
  DevicePosition& place = found->second;
  if (!is_new) return place;
  const CpuSet cpus = cpus_of(object);
  for (const Numa& numa : numas) {
    if (cpus.empty() || cpus.intersects(numa.cpus)) place.numas.push_back(numa.node);
  }
  if (place.numas.size() == 1) {
    place.parent = place.numas[0];
    return place;
  }
  if (place.numas.empty()) {
    for (const Numa& numa : numas) place.numas.push_back(numa.node);
  }
  place.parent = place.numas.empty() ? host : graph[place.numas[0]].parent;
  for (const Index numa : place.numas) {
    if (graph[numa].parent != place.parent) place.parent = host;
  }
  return place;
}

Status add_processors(Build& build) {
  const HwlocObject& machine = build.document.machine;
  Processors found;
  collect(machine, found);
  if (found.numas.size() > kMostNumas) {
    return build.refuse(
        fmt::format("the machine has {} NUMA nodes; expected at most {}", found.numas.size(), kMostNumas));
  }
  const std::string* name = machine_info(build.document, "HostName");
  build.host = build.graph.add(name == nullptr || name->empty() ? "host" : *name, kNone, HostFacts{});
  std::vector<Package> packages;
  WEIR_TRY(add_packages(build, found, packages));
  for (const HwlocObject* object : found.numas)
    WEIR_TRY(add_numa(build, packages, *object, static_cast<int>(object->os_index)));
  if (found.numas.empty()) WEIR_TRY(add_numa(build, packages, machine, 0));
  connect_numas(build);
  return {};
}

}  // namespace hwloc

Result<Graph> graph_of(const HwlocXml& document, Notes* notes) {
  hwloc::Build build{.document = document, .notes = notes};
  WEIR_TRY(hwloc::add_processors(build));
  WEIR_TRY(hwloc::add_devices(build));
  WEIR_TRY(hwloc::add_gpu_links(build));
  return std::move(build.graph);
}

}  // namespace weir::topology
