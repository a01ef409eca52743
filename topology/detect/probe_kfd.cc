#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "topology/detect/probe.h"
#include "topology/formats/source.h"
#include "topology/model/rates.h"

namespace weir::topology {
namespace {

// AMD's kernel driver, /sys/class/kfd/kfd/topology; Linux, drivers/gpu/drm/amd/amdkfd/kfd_crat.h and
// kfd_topology.c.
constexpr const char* kNodes = "/sys/class/kfd/kfd/topology/nodes";
constexpr int64_t kXgmi = 11;
constexpr int64_t kPcie = 2;
/// Weights of direct links; others lead over several. 13: inside a package, 15: to another, 41: the same of
/// partitions.
constexpr int64_t kDirect[] = {13, 15, 41};

/// "name value" by line.
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
  /// 0 where there is none.
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

struct KfdGpu {
  int64_t number = 0;
  std::string address;  ///< of the PCI function that all partitions of a GPU share
  int partition = 0;
  Properties properties{""};
  Index node = kNone;     ///< GPU or partition
  Index package = kNone;  ///< the GPU
};

/// "gfx90a" of 90010: decimal, then two hexadecimal digits.
std::string arch_of(int64_t version) {
  if (version <= 0 || version > 999999) return "";
  return fmt::format("gfx{}{:x}{:x}", version / 10000, version / 100 % 100, version % 100);
}

class KfdReader {
 public:
  explicit KfdReader(Probe& probe) : probe_(probe) {}

  void read() {
    for (const std::string& name : probe_.files.list(kNodes)) read_node(name);
    if (gpus_.empty()) return probe_.absent("AMD's kernel driver shows no GPU");
    std::map<std::string, int> dies;
    for (const auto& [number, gpu] : gpus_) ++dies[gpu.address];
    int device = 0;
    for (auto& [number, gpu] : gpus_) place(gpu, dies[gpu.address] > 1, device++);
    for (const KfdLink& link : links_) add_link(link);
    probe_.found(fmt::format("{} GPUs or partitions, {} xGMI links", gpus_.size(), added_.size()));
  }

 private:
  void read_node(const std::string& name) {
    const std::string folder = std::string(kNodes) + "/" + name;
    int64_t number = 0;
    if (!parse_int(name, number)) return;
    const auto text = probe_.files.read(folder + "/properties");
    if (!text)
      return probe_.doubt(
          fmt::format("{}/properties cannot be read (containers may see only their own GPUs)", folder));
    const Properties properties(*text);
    if (properties["simd_count"] == 0) {
      if (properties["cpu_cores_count"] > 0) numa_.emplace(number, static_cast<int>(numa_.size()));
      return;
    }
    const int64_t place = properties["location_id"];
    KfdGpu gpu;
    gpu.number = number;
    gpu.properties = properties;
    // Partitions have their number where the function would be.
    gpu.partition = static_cast<int>(place & 7);
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

  /// The processor's node that a GPU names as its own.
  int numa_of(int64_t number) const {
    for (const KfdLink& link : links_) {
      const auto numa = numa_.find(link.to);
      if (link.from == number && link.type == kPcie && numa != numa_.end()) return numa->second;
    }
    return -1;
  }

  void place(KfdGpu& gpu, bool divided, int device) {
    gpu.package = gpu.node = probe_.gpu_at(gpu.address, numa_of(gpu.number));
    GpuFacts& facts = *probe_.graph.get<GpuFacts>(gpu.package);
    facts.arch = arch_of(gpu.properties["gfx_target_version"]);
    facts.pci.vendor = static_cast<uint32_t>(gpu.properties["vendor_id"]);
    facts.pci.device = static_cast<uint32_t>(gpu.properties["device_id"]);
    if (facts.device < 0) facts.device = device;
    const int64_t per_unit = std::max<int64_t>(gpu.properties["simd_per_cu"], 1);
    const int units = static_cast<int>(gpu.properties["simd_count"] / per_unit);
    facts.units = divided ? facts.units + units : units;
    if (!divided) return;
    gpu.node = probe_.graph.add(fmt::format("partition {}", gpu.partition), gpu.package,
                                PartitionFacts{gpu.partition, "", ""});
    probe_.graph.connect({gpu.node, gpu.package, LinkKind::inner, 1, kInnerGbPerS, 0, -1});
  }

  /// Links between partitions of two packages are one link between the packages.
  void add_link(const KfdLink& link) {
    const auto from = gpus_.find(link.from), to = gpus_.find(link.to);
    if (link.type != kXgmi || from == gpus_.end() || to == gpus_.end()) return;
    const bool direct = std::find(std::begin(kDirect), std::end(kDirect), link.weight) != std::end(kDirect);
    const Index a = from->second.package, b = to->second.package;
    if (!direct || a == b || !added_.insert({a, b}).second) return;
    const int count = link.least > 0 && link.most > link.least
                          ? static_cast<int>(std::min<int64_t>(link.most / link.least, 64))
                          : 1;
    const double told = static_cast<double>(link.most) / 1000;
    const double usual = count * xgmi_gb_per_s(probe_.graph.get<GpuFacts>(a)->arch);
    probe_.graph.add({a, b, LinkKind::xgmi, count, told > 0 ? told : usual, 0, -1});
  }

  Probe& probe_;
  std::map<int64_t, KfdGpu> gpus_;
  std::map<int64_t, int> numa_;  ///< NUMA numbers by KFD's numbers of processors
  std::vector<KfdLink> links_;
  std::set<std::pair<Index, Index>> added_;
};

}  // namespace

void probe_kfd(Probe& probe) {
  if (probe.files.list(kNodes).empty()) return probe.absent("AMD's kernel driver (KFD) is not there");
  KfdReader(probe).read();
}

}  // namespace weir::topology
