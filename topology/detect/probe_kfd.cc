// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "topology/detect/probe.h"
#include "topology/detect/xgmi.h"
#include "topology/formats/source.h"
#include "topology/model/rates.h"

namespace weir::topology {
namespace {

// Reads AMD's kernel driver, /sys/class/kfd/kfd/topology; see Linux, drivers/gpu/drm/amd/amdkfd/kfd_crat.h
// and kfd_topology.c.
constexpr const char* kNodes = "/sys/class/kfd/kfd/topology/nodes";
constexpr int64_t kXgmi = 11;
/// Number of links between the two dies of an MI250 (gfx90a) package; it occurs nowhere else.
constexpr int kInsidePackage = 4;

/// Properties in lines of "name value".
class Properties {
 public:
  explicit Properties(const std::string& text) {
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
      const auto parts = words(line);
      double value = 0;
      if (parts.size() == 2 && parse_number(parts[1], value)) values_[std::string(parts[0])] = value;
    }
  }
  /// The property's value; 0 if there is none.
  int64_t operator[](const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? 0 : static_cast<int64_t>(found->second);
  }

 private:
  std::map<std::string, double> values_;
};

struct KfdLink {
  int64_t from, to, type, weight, least, most;
};

/// A GPU as the driver counts it: each partition of a partitioned GPU.
struct KfdGpu {
  int64_t number = 0;
  std::string address;  ///< address of the PCI function that all partitions of a GPU share
  int function = 0;     ///< newer drivers store the partition number here
  Properties properties{""};
  Index node = kNone;  ///< its node in the graph
};

/// "gfx90a" from 90010: decimal digits, then two hexadecimal digits.
std::string arch_of(int64_t version) {
  if (version <= 0 || version > 999999) return "";
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

class KfdReader {
 public:
  explicit KfdReader(Probe& probe) : probe_(probe) {}

  void read() {
    std::set<int64_t> numbers;  // in numerical order, which differs from the order of names
    for (const std::string& name : probe_.files.list(kNodes)) {
      int64_t number = 0;
      if (parse_int(name, number)) numbers.insert(number);
    }
    for (const int64_t number : numbers) read_node(number);
    if (gpus_.empty()) return probe_.absent("AMD's kernel driver shows no GPU");
    std::map<std::string, int> parts;
    for (const auto& [number, gpu] : gpus_) ++parts[gpu.address];
    for (auto& [number, gpu] : gpus_) place(gpu, parts[gpu.address] > 1);
    std::stable_sort(links_.begin(), links_.end(), [](const KfdLink& a, const KfdLink& b) {
      return std::pair(a.from, a.to) < std::pair(b.from, b.to);
    });
    for (const KfdLink& link : links_) add_link(link);
    probe_.found(fmt::format("{} GPUs{}, {} xGMI links", parts.size(),
                             partitions_ > 0 ? fmt::format(" in {} partitions", partitions_) : "",
                             added_.size()));
  }

 private:
  void read_node(int64_t number) {
    const std::string folder = fmt::format("{}/{}", kNodes, number);
    const auto text = probe_.files.read(folder + "/properties");
    if (!text)
      return probe_.doubt(
          fmt::format("{}/properties cannot be read (a container can see only its own GPUs)", folder));
    const Properties properties(*text);
    if (properties["simd_count"] == 0) {
      if (properties["cpu_cores_count"] > 0) numa_.emplace(number, static_cast<int>(numa_.size()));
      return;
    }
    const int64_t place = properties["location_id"];
    KfdGpu gpu;
    gpu.number = number;
    gpu.properties = properties;
    gpu.function = static_cast<int>(place & 7);
    gpu.address =
        fmt::format("{:04x}:{:02x}:{:02x}.0", properties["domain"], place >> 8 & 0xff, place >> 3 & 0x1f);
    gpus_[number] = gpu;
    for (const char* kind : {"/io_links", "/p2p_links"}) {
      for (const std::string& link : probe_.files.list(folder + kind)) read_link(folder + kind + "/" + link);
    }
  }

  void read_link(const std::string& folder) {
    const auto text = probe_.files.read(folder + "/properties");
    if (!text) return;
    const Properties p(*text);
    links_.push_back(
        {p["node_from"], p["node_to"], p["type"], p["weight"], p["min_bandwidth"], p["max_bandwidth"]});
  }

  /// The number of the NUMA node nearest to a GPU, by PCIe or, if they share memory, by xGMI.
  int numa_of(int64_t number) const {
    const KfdLink* nearest = nullptr;
    for (const KfdLink& link : links_) {
      if (link.from == number && numa_.contains(link.to) &&
          (nearest == nullptr || link.weight < nearest->weight))
        nearest = &link;
    }
    return nearest == nullptr ? -1 : numa_.at(nearest->to);
  }

  void place(KfdGpu& gpu, bool several) {
    gpu.node = probe_.gpu_at(gpu.address, numa_of(gpu.number));
    GpuFacts& facts = *probe_.graph.get<GpuFacts>(gpu.node);
    facts.arch = arch_of(gpu.properties["gfx_target_version"]);
    facts.pci.vendor = static_cast<uint32_t>(gpu.properties["vendor_id"]);
    facts.pci.device = static_cast<uint32_t>(gpu.properties["device_id"]);
    const auto [at, added] = devices_.try_emplace(gpu.node, static_cast<int>(devices_.size()));
    if (facts.device < 0) facts.device = at->second;
    const int64_t per_unit = std::max<int64_t>(gpu.properties["simd_per_cu"], 1);
    const int units = static_cast<int>(gpu.properties["simd_count"] / per_unit);
    facts.units = added ? units : facts.units + units;
    const std::string mode =
        probe_.files.read("/sys/bus/pci/devices/" + gpu.address + "/current_compute_partition").value_or("");
    // A container may show only one of several partitions.
    if (several || (!mode.empty() && mode != "SPX")) add_partition(gpu, mode);
  }

  void add_partition(const KfdGpu& gpu, const std::string& mode) {
    int number = gpu.function;
    while (!numbers_.insert({gpu.node, number}).second) ++number;
    ++partitions_;
    const Index node =
        probe_.graph.add(fmt::format("partition {}", number), gpu.node, PartitionFacts{number, mode, ""});
    probe_.graph.connect({node, gpu.node, LinkKind::inner, 1, kInnerGbPerS, 0, -1});
  }

  /// Links between partitions of two GPUs are links between the GPUs.
  void add_link(const KfdLink& link) {
    const auto from = gpus_.find(link.from), to = gpus_.find(link.to);
    if (link.type != kXgmi || from == gpus_.end() || to == gpus_.end()) return;
    const Index a = from->second.node, b = to->second.node;
    if (!is_direct_xgmi(link.weight) || a == b || !added_.insert({a, b}).second) return;
    const Link direct = xgmi_link(probe_.graph, a, b, link.least, link.most);
    probe_.graph.add(direct);
    if (probe_.graph.get<GpuFacts>(a)->arch == "gfx90a" && direct.count == kInsidePackage) join_dies(a, b);
  }

  void join_dies(Index a, Index b) {
    GpuFacts &first = *probe_.graph.get<GpuFacts>(a), &second = *probe_.graph.get<GpuFacts>(b);
    if (first.package < 0) first.package = second.package >= 0 ? second.package : packages_++;
    second.package = first.package;
  }

  Probe& probe_;
  std::map<int64_t, KfdGpu> gpus_;
  std::map<int64_t, int> numa_;  ///< NUMA numbers; key: KFD's number of the processor
  std::vector<KfdLink> links_;
  std::set<std::pair<Index, Index>> added_;
  std::map<Index, int> devices_;             ///< numbers of GPUs; key: node
  std::set<std::pair<Index, int>> numbers_;  ///< pairs of a GPU and a partition number
  int partitions_ = 0;
  int packages_ = 0;
};

}  // namespace

void probe_kfd(Probe& probe) {
  if (probe.files.list(kNodes).empty()) return probe.absent("AMD's kernel driver (KFD) is not loaded");
  KfdReader(probe).read();
}

}  // namespace weir::topology
