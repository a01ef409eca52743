// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <unordered_map>

#include "topology/formats/nccl_xml.h"
#include "topology/formats/xml.h"
#include "topology/model/check.h"
#include "topology/model/nvswitch.h"
#include "topology/model/pci_fabric.h"
#include "topology/model/rates.h"

namespace weir::topology {
namespace {

using Need = XmlFile::Need;
using pugi::xml_node;

constexpr int kMost = 1 << 30;
/// The target that NCCL writes if the other end of a link is invisible.
constexpr const char* kInvisible = "fffffff:ffff:ff";

bool is_tag(xml_node element, const char* tag) { return std::string_view(element.name()) == tag; }

/// Parses "16.0 GT/s PCIe" and older forms; false: the text is not a speed of a PCIe generation.
bool parse_gt_per_s(std::string_view text, double& value) {
  constexpr double kRates[] = {2.5, 5, 8, 16, 32, 64, 128};
  const size_t blank = text.find(' ');
  double read = 0;
  if (blank == std::string_view::npos || !text.substr(blank + 1).starts_with("GT/s") ||
      !parse_number(text.substr(0, blank), read) ||
      std::find(std::begin(kRates), std::end(kRates), read) == std::end(kRates)) {
    return false;
  }
  value = read;
  return true;
}

class NcclReader {
 public:
  NcclReader(const XmlFile& file, Notes* notes) : file_(file), notes_(notes) {}

  Result<NcclXml> read() {
    const xml_node root = file_.root();
    if (!is_tag(root, "system"))
      return file_.refuse(
          root,
          fmt::format("the file contains <{}>; expected <system> of NCCL and RCCL, or <topology> of hwloc",
                      root.name()));
    int version = 0;
    WEIR_TRY(file_.get(root, "version", Need::needed, 0, kMost, version));
    if (version != 1 && version != 2) {
      return file_.refuse(
          root, fmt::format("unknown version {} of the format; expected 1 (NCCL) or 2 (RCCL)", version));
    }
    WEIR_TRY(known_attributes(root, {"version", "name"}));
    result_.dialect = version == 1 ? NcclDialect::nccl : NcclDialect::rccl;
    for (const xml_node child : root.children()) {
      if (is_tag(child, "cpu")) {
        WEIR_TRY(read_cpu(child));
      } else {
        WEIR_TRY(unknown(child));
      }
    }
    if (hosts_.empty()) return file_.refuse(root, "<system> contains no <cpu>; expected at least one");
    number_gpus();
    join_numa_nodes();
    for (const auto& [element, gpu] : gpu_tags_) WEIR_TRY(read_gpu_links(element, gpu));
    join_nvswitches(graph());
    join_pci_fabrics(graph());
    if (Status sound = check(graph()); !sound.ok()) return file_.refuse(root, sound.message());
    return std::move(result_);
  }

 private:
  struct Seen {
    size_t line;
    NodeKind kind;
  };

  Graph& graph() { return result_.graph; }

  Status unknown(xml_node element) const {
    return file_.leave_out(
        notes_, element,
        fmt::format("unknown element <{}> in <{}>", element.name(), element.parent().name()));
  }

  Status known_attributes(xml_node element, std::initializer_list<std::string_view> known) const {
    for (const pugi::xml_attribute attribute : element.attributes()) {
      if (std::find(known.begin(), known.end(), attribute.name()) != known.end()) continue;
      WEIR_TRY(file_.leave_out(
          notes_, element, fmt::format("unknown attribute {} of <{}>", attribute.name(), element.name())));
    }
    return {};
  }

  /// The host with that hash, created if necessary.
  Index host(uint64_t hash) {
    const auto [at, added] = hosts_.try_emplace(hash, kNone);
    if (added) {
      const std::string own = file_.root().attribute("name").value();
      const std::string name = hosts_.size() > 1 ? fmt::format("host{}", hosts_.size())
                               : own.empty()     ? "host"
                                                 : own;
      at->second = graph().add(name, kNone, HostFacts{hash, {}});
    }
    return at->second;
  }

  Status read_cpu(xml_node element) {
    WEIR_TRY(known_attributes(element,
                              {"numaid", "host_hash", "affinity", "arch", "vendor", "familyid", "modelid"}));
    NumaFacts numa;
    uint64_t hash = 0;
    WEIR_TRY(file_.get(element, "numaid", Need::needed, -1, kMost, numa.number));
    WEIR_TRY(file_.get_hex(element, "host_hash", Need::optional, hash));
    WEIR_TRY(file_.get(element, "affinity", Need::optional, numa.affinity));
    WEIR_TRY(file_.get(element, "arch", Need::optional, numa.cpu.arch));
    WEIR_TRY(file_.get(element, "vendor", Need::optional, numa.cpu.vendor));
    WEIR_TRY(file_.get(element, "familyid", Need::optional, 0, kMost, numa.cpu.family));
    WEIR_TRY(file_.get(element, "modelid", Need::optional, 0, kMost, numa.cpu.model));
    const Index holder = host(hash);
    const Index node = graph().add(fmt::format("{}", numa.number), holder, numa);
    numa_.push_back(node);
    for (const xml_node child : element.children()) {
      if (is_tag(child, "pci")) {
        WEIR_TRY(read_pci(child, node));
      } else if (is_tag(child, "nic")) {
        WEIR_TRY(read_virtual_nic(child, node));
      } else {
        WEIR_TRY(unknown(child));
      }
    }
    return {};
  }

  Status read_pci_facts(xml_node element, PciFacts& pci) {
    WEIR_TRY(known_attributes(element, {"busid", "class", "link_speed", "link_width", "vendor", "device",
                                        "subsystem_vendor", "subsystem_device"}));
    WEIR_TRY(file_.get(element, "busid", Need::needed, pci.address));
    if (const std::string told = pci.address; !parse_pci_address(told, pci.address)) {
      return file_.refuse(element,
                          fmt::format("busid of <pci> is \"{}\"; expected an address such as 0000:3b:00.0",
                                      told.substr(0, 40)));
    }
    const std::pair<const char*, uint32_t*> numbers[] = {{"class", &pci.class_code},
                                                         {"vendor", &pci.vendor},
                                                         {"device", &pci.device},
                                                         {"subsystem_vendor", &pci.subsystem_vendor},
                                                         {"subsystem_device", &pci.subsystem_device}};
    for (const auto& [attribute, into] : numbers) {
      uint64_t value = 0;
      if (!element.attribute(attribute) || *element.attribute(attribute).value() == '\0') continue;
      WEIR_TRY(file_.get_hex(element, attribute, Need::optional, value));
      if (value > UINT32_MAX)
        return file_.refuse(element, fmt::format("{} of <pci> has more than 32 bits", attribute));
      *into = static_cast<uint32_t>(value);
    }
    const std::string_view speed = element.attribute("link_speed").value();
    if (!speed.empty() && !parse_gt_per_s(speed, pci.gt_per_s)) {
      WEIR_TRY(file_.leave_out(
          notes_, element,
          fmt::format("link_speed of <pci> is \"{}\"; expected a text such as \"16.0 GT/s PCIe\"",
                      speed.substr(0, 60))));
    }
    return file_.get(element, "link_width", Need::optional, 0, 64, pci.width);
  }

  /// Notes an address that occurs for the second time, as in real files: a bridge with the address of a
  /// device below it, or of another bridge. `twice`: the earlier node is of the same kind.
  Status check_address(xml_node element, const std::string& address, NodeKind kind, const std::string& key,
                       bool& twice) {
    const auto [earlier, added] = addresses_.try_emplace(key, Seen{file_.line(element), kind});
    if (added) return {};
    twice = earlier->second.kind == kind;
    const char* const what = !twice                     ? ""
                             : kind == NodeKind::bridge ? "; it counts as another bridge"
                                                        : "; this one is ignored";
    return file_.leave_out(
        notes_, element,
        fmt::format("duplicate busid {}; the first is in line {}{}", address, earlier->second.line, what));
  }

  Status read_pci(xml_node element, Index parent) {
    PciFacts pci;
    WEIR_TRY(read_pci_facts(element, pci));
    const std::string key = fmt::format("{} {}", graph().holder(parent, NodeKind::host), pci.address);
    const uint32_t base = pci.class_code >> 16;
    Facts facts = BridgeFacts{false, pci, {}};
    if (element.child("gpu") || base == 0x03 || pci.class_code == 0x120000) {
      facts = GpuFacts();
      std::get<GpuFacts>(facts).pci = pci;
    } else if (element.child("nic") || base == 0x02) {
      facts = NicFacts{pci, {}};
    } else if (pci.class_code == 0x068000) {
      facts = NvSwitchFacts{pci};
    }
    bool twice = false;
    WEIR_TRY(check_address(element, pci.address, static_cast<NodeKind>(facts.index()), key, twice));
    std::string name = pci.address;
    if (twice) {
      auto* const bridge = std::get_if<BridgeFacts>(&facts);
      if (bridge == nullptr) return {};
      bridge->pci.address.clear();
      name += fmt::format("#{}", ++duplicates_ + 1);
    }
    const Index node = graph().add(name, parent, std::move(facts));
    graph().connect({node, parent, LinkKind::pci, 1, pcie_gb_per_s(pci.gt_per_s, pci.width), 0, -1});
    by_address_.try_emplace(key, node);
    return read_pci_children(element, node);
  }

  Status read_pci_children(xml_node element, Index node) {
    const NodeKind kind = graph()[node].kind();
    bool has_gpu = false;
    for (const xml_node child : element.children()) {
      if (is_tag(child, "pci") && kind == NodeKind::bridge) {
        WEIR_TRY(read_pci(child, node));
      } else if (is_tag(child, "gpu") && kind == NodeKind::gpu) {
        if (has_gpu)
          return file_.refuse(child, "a second <gpu> in one <pci>; expected one GPU per PCI function");
        has_gpu = true;
        WEIR_TRY(read_gpu(child, node));
      } else if (is_tag(child, "nic") && kind == NodeKind::nic) {
        WEIR_TRY(read_ports(child, node));
      } else if (is_tag(child, "pcilink") && kind == NodeKind::bridge) {
        std::string target;
        WEIR_TRY(known_attributes(child, {"target"}));
        WEIR_TRY(file_.get(child, "target", Need::needed, target));
        graph().get<BridgeFacts>(node)->peers.push_back(target);
      } else {
        WEIR_TRY(unknown(child));
      }
    }
    return {};
  }

  Status read_gpu(xml_node element, Index node) {
    WEIR_TRY(known_attributes(element, {"dev", "sm", "gcn", "arch", "rank", "gdr"}));
    GpuFacts& gpu = *graph().get<GpuFacts>(node);
    int sm = -1;
    WEIR_TRY(file_.get(element, "dev", Need::needed, 0, kMost, gpu.device));
    if (!gpu_numbers_.emplace(graph().holder(node, NodeKind::host), gpu.device).second) {
      WEIR_TRY(file_.leave_out(
          notes_, element,
          fmt::format("GPU number {} occurs twice; this GPU gets a free number", gpu.device)));
      gpu.device = -1;
      unnumbered_.push_back(node);
    }
    WEIR_TRY(file_.get(element, "sm", Need::optional, 0, kMost, sm));
    WEIR_TRY(file_.get(element, "rank", Need::optional, 0, kMost, gpu.rank));
    WEIR_TRY(file_.get(element, "gdr", Need::optional, gpu.gdr));
    if (result_.dialect == NcclDialect::nccl) {
      if (sm >= 0) gpu.arch = fmt::format("sm_{}", sm);
    } else {
      gpu.units = std::max(sm, 0);
      int features = 0;
      WEIR_TRY(file_.get(element, "arch", Need::optional, 0, INT32_MAX, features));
      gpu.features = static_cast<uint32_t>(features);
      WEIR_TRY(file_.get(element, "gcn", Need::optional, gpu.arch));
      if (gpu.arch == "910") gpu.arch = "90a";  // as older files write it
      if (!gpu.arch.empty() && !gpu.arch.starts_with("gfx")) gpu.arch = "gfx" + gpu.arch;
    }
    gpu_tags_.emplace_back(element, node);
    return {};
  }

  Status read_virtual_nic(xml_node element, Index parent) {
    const std::string first = element.child("net").attribute("name").value();
    if (first.empty()) return file_.leave_out(notes_, element, "<nic> in <cpu> has no <net> with a name");
    const Index node = graph().add(first, parent, NicFacts{});
    graph().connect({node, parent, LinkKind::pci, 1, kInnerGbPerS, 0, -1});
    return read_ports(element, node);
  }

  Status read_ports(xml_node element, Index nic) {
    WEIR_TRY(known_attributes(element, {}));
    for (const xml_node child : element.children()) {
      if (is_tag(child, "net")) {
        WEIR_TRY(read_port(child, nic));
      } else {
        WEIR_TRY(unknown(child));
      }
    }
    return {};
  }

  Status read_port(xml_node element, Index nic) {
    WEIR_TRY(known_attributes(element, {"name", "dev", "speed", "port", "guid", "latency", "maxconn", "gdr",
                                        "coll", "keep", "net", "gin", "rma", "rail", "plane"}));
    std::string name;
    PortFacts port;
    port.number = 0;
    WEIR_TRY(file_.get(element, "name", Need::needed, name));
    WEIR_TRY(file_.get(element, "dev", Need::optional, -1, kMost, port.device));
    WEIR_TRY(file_.get_number(element, "speed", Need::optional, -1, 1e12, port.mbit_per_s));
    if (port.mbit_per_s <= 0) {
      port.mbit_per_s = 0;
      WEIR_TRY(file_.leave_out(notes_, element,
                               fmt::format("speed of <net> {} is missing or 0; expected Mb/s", name)));
    }
    WEIR_TRY(file_.get(element, "port", Need::optional, 0, kMost, port.number));
    WEIR_TRY(file_.get_hex(element, "guid", Need::optional, port.guid));
    WEIR_TRY(file_.get_number(element, "latency", Need::optional, 0, 1e9, port.latency_us));
    WEIR_TRY(file_.get(element, "maxconn", Need::optional, 0, kMost, port.most_connections));
    WEIR_TRY(file_.get(element, "gdr", Need::optional, port.gdr));
    WEIR_TRY(file_.get(element, "coll", Need::optional, port.in_network_reduction));
    WEIR_TRY(file_.get(element, "rail", Need::optional, -1, kMost, port.rail));
    WEIR_TRY(file_.get(element, "plane", Need::optional, -1, kMost, port.plane));
    const double gb_per_s = port.mbit_per_s / 8000;
    const Index node = graph().add(name, nic, port);
    graph().connect({node, nic, LinkKind::inner, 1, gb_per_s, port.latency_us, -1});
    return {};
  }

  /// Gives GPUs whose number another one has the lowest free number of their host.
  void number_gpus() {
    for (const Index gpu : unnumbered_) {
      int number = 0;
      while (!gpu_numbers_.emplace(graph().holder(gpu, NodeKind::host), number).second) ++number;
      graph().get<GpuFacts>(gpu)->device = number;
    }
  }

  /// The format does not say which NUMA nodes share a package: each counts as a package.
  void join_numa_nodes() {
    for (size_t a = 0; a < numa_.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        if (graph()[numa_[a]].parent != graph()[numa_[b]].parent) continue;
        const CpuFacts& cpu = graph().get<NumaFacts>(numa_[a])->cpu;
        graph().connect({numa_[b], numa_[a], LinkKind::cpu, 1, between_packages_gb_per_s(cpu), 0, -1});
      }
    }
  }

  Status read_gpu_links(xml_node element, Index gpu) {
    for (const xml_node child : element.children()) {
      if (is_tag(child, "nvlink") || is_tag(child, "xgmi")) {
        WEIR_TRY(read_gpu_link(child, gpu));
      } else if (is_tag(child, "c2c")) {
        WEIR_TRY(known_attributes(child, {"bw", "count"}));
        Link link{gpu, graph().holder(gpu, NodeKind::numa), LinkKind::c2c, 1, 0, 0, -1};
        double mb_per_s = 0;
        WEIR_TRY(file_.get_number(child, "bw", Need::needed, 0, 1e12, mb_per_s));
        WEIR_TRY(file_.get(child, "count", Need::needed, 1, 1 << 20, link.count));
        link.gb_per_s = mb_per_s * link.count / 1000;
        graph().connect(link);
      } else {
        WEIR_TRY(unknown(child));
      }
    }
    return {};
  }

  Status read_gpu_link(xml_node element, Index gpu) {
    WEIR_TRY(known_attributes(element, {"target", "count", "tclass"}));
    const bool xgmi = is_tag(element, "xgmi");
    Link link{gpu, kNone, xgmi ? LinkKind::xgmi : LinkKind::nvlink, 1, 0, 0, -1};
    std::string target;
    uint64_t target_class = 0;
    WEIR_TRY(file_.get(element, "target", Need::needed, target));
    if (const std::string told = target; told != kInvisible && !parse_pci_address(told, target)) {
      return file_.refuse(
          element, fmt::format("target of <{}> is \"{}\"; expected an address such as 0000:3b:00.0, or {}",
                               element.name(), told.substr(0, 40), kInvisible));
    }
    WEIR_TRY(file_.get(element, "count", Need::needed, 1, 1 << 20, link.count));
    WEIR_TRY(file_.get_hex(element, "tclass", Need::needed, target_class));
    const std::string arch = graph().get<GpuFacts>(gpu)->arch;
    link.gb_per_s = link.count * (xgmi ? xgmi_gb_per_s(arch) : nvlink_gb_per_s(arch));
    if (target_class == 0x068001) {  // the processor's end, on POWER
      link.to = graph().holder(gpu, NodeKind::numa);
      graph().connect(link);
      return {};
    }
    const Index host = graph().holder(gpu, NodeKind::host);
    const std::string key = fmt::format("{} {}", host, target);
    const auto found = by_address_.find(key);
    if (target == kInvisible || (found == by_address_.end() && target_class == 0x068000)) {
      link.to = found != by_address_.end()
                    ? found->second
                    : graph().add(target == kInvisible ? "nvswitch" : target, host,
                                  NvSwitchFacts{{.address = target == kInvisible ? "" : target}});
      by_address_[key] = link.to;
      graph().connect(link);
      return {};
    }
    if (found == by_address_.end())
      return file_.leave_out(notes_, element,
                             fmt::format("target {} of <{}> is not in the file", target, element.name()));
    link.to = found->second;
    if (link.to == gpu) {
      return file_.leave_out(
          notes_, element,
          fmt::format("target {} of <{}> is this very GPU; the link is ignored", target, element.name()));
    }
    const NodeKind kind = graph()[link.to].kind();
    if (kind == NodeKind::nvswitch) {
      graph().connect(link);
    } else if (kind == NodeKind::gpu) {
      graph().add(link);  // the other GPU's tag describes the other direction
    } else {
      return file_.refuse(
          element, fmt::format("target {} of <{}> is a {}; expected another GPU or an NVSwitch", target,
                               element.name(), name(kind)));
    }
    return {};
  }

  const XmlFile& file_;
  Notes* const notes_;
  NcclXml result_;
  std::unordered_map<uint64_t, Index> hosts_;  ///< key: hash
  std::vector<Index> numa_;
  std::unordered_map<std::string, Seen> addresses_;    ///< key: host and address
  std::unordered_map<std::string, Index> by_address_;  ///< nodes; key: host and address
  std::vector<std::pair<xml_node, Index>> gpu_tags_;
  std::set<std::pair<Index, int>> gpu_numbers_;  ///< host and number
  std::vector<Index> unnumbered_;                ///< GPUs whose number occurred before
  int duplicates_ = 0;                           ///< bridges with the address of an earlier one
};

}  // namespace

Result<NcclXml> read_nccl_xml(const Source& source, Notes* notes) {
  auto file = XmlFile::parse(source);
  WEIR_TRY(file.status());
  return NcclReader(*file, notes).read();
}

}  // namespace weir::topology
