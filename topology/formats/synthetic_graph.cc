// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>

#include "topology/formats/synthetic.h"
#include "topology/model/rates.h"

namespace weir::topology {
namespace {

using Wiring = Synthetic::Wiring;

struct Wire {
  int a;
  int b;
  int count;
};

/// DGX-1V, from NVIDIA's own description of the machine.
constexpr Wire kCube[] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1},
                          {1, 5, 2}, {2, 3, 2}, {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1},
                          {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
/// 16 dies of MI250 in one host, as ForestColl and TE-CCL publish them.
constexpr Wire kMi250[] = {{0, 1, 4},   {0, 4, 2},   {0, 8, 1},   {1, 5, 1},   {1, 9, 1},   {1, 10, 1},
                           {2, 3, 4},   {2, 6, 1},   {2, 9, 1},   {2, 10, 1},  {3, 7, 2},   {3, 11, 1},
                           {4, 5, 4},   {4, 6, 1},   {5, 6, 1},   {5, 7, 1},   {6, 7, 4},   {8, 9, 4},
                           {8, 12, 2},  {9, 13, 1},  {10, 11, 4}, {10, 14, 1}, {11, 15, 2}, {12, 13, 4},
                           {12, 14, 1}, {13, 14, 1}, {13, 15, 1}, {14, 15, 4}};

class SyntheticGraphBuilder {
 public:
  explicit SyntheticGraphBuilder(const Synthetic& machine) : machine_(machine) {}

  Graph build() {
    for (const Synthetic::Hosts& hosts : machine_.hosts) {
      for (int i = 0; i < hosts.count; ++i) add_host(hosts);
    }
    if (!machine_.fabric.empty()) add_fabric(machine_.fabric[0]);
    return std::move(graph_);
  }

 private:
  void add_host(const Synthetic::Hosts& spec) {
    const Index host =
        graph_.add(fmt::format("host{}", hosts_.size()), kNone, HostFacts{hosts_.size() + 1, {}});
    ports_.clear();
    std::vector<Index> numa, bridges, gpus;
    for (int i = 0; i < spec.numa_nodes; ++i) {
      NumaFacts facts;
      facts.number = i;
      numa.push_back(graph_.add(fmt::format("{}", i), host, facts));
      for (int other = 0; other < i; ++other)
        graph_.connect(
            {numa[static_cast<size_t>(other)], numa.back(), LinkKind::cpu, 1, kBetweenPackages, 0, -1});
    }
    const int switches =
        std::max(1, std::max(spec.gpus == 0 ? 0 : std::min(spec.gpus, std::max(spec.nics, 1)),
                             spec.gpus == 0 ? spec.nics : 0));
    for (int i = 0; i < switches; ++i) {
      const Index node = numa[static_cast<size_t>(i) * numa.size() / static_cast<size_t>(switches)];
      bridges.push_back(add_pci<BridgeFacts>(node, 0x060400, i, 0, spec.pcie_gb_per_s));
    }
    for (int i = 0; i < spec.gpus; ++i) {
      const Index gpu = add_pci<GpuFacts>(bridges[static_cast<size_t>(i * switches / spec.gpus)], 0x030200, i,
                                          1, spec.pcie_gb_per_s);
      graph_.get<GpuFacts>(gpu)->device = i;
      gpus.push_back(gpu);
    }
    for (int i = 0; i < spec.nics; ++i)
      add_nic(bridges[static_cast<size_t>(i * switches / spec.nics)], i, spec);
    wire(spec, host, gpus);
    hosts_.push_back(ports_);
  }

  template <typename T>
  Index add_pci(Index parent, uint32_t class_code, int number, int kind, double gb_per_s) {
    T facts;
    facts.pci.class_code = class_code;
    facts.pci.address =
        fmt::format("{:04x}:{:02x}:{:02x}.0", number / 32, 0x10 + kind * 0x40 + number % 32, 0);
    const Index node = graph_.add(facts.pci.address, parent, facts);
    graph_.connect({node, parent, LinkKind::pci, 1, gb_per_s, 0, -1});
    return node;
  }

  void add_nic(Index bridge, int number, const Synthetic::Hosts& spec) {
    const Index nic = add_pci<NicFacts>(bridge, 0x020700, number, 2, spec.pcie_gb_per_s);
    PortFacts facts;
    facts.device = number;
    facts.mbit_per_s = spec.nic_gb_per_s * 8000;
    facts.guid = (uint64_t{hosts_.size()} + 1) << 16 | static_cast<uint64_t>(number + 1);
    if (!machine_.fabric.empty() && machine_.fabric[0].rail) facts.rail = number;
    const Index port = graph_.add(fmt::format("nic{}", number), nic, facts);
    graph_.connect({port, nic, LinkKind::inner, 1, spec.nic_gb_per_s, 0, -1});
    ports_.push_back(port);
  }

  void join(const std::vector<Index>& gpus, const Wire& wire, LinkKind kind, double gb_per_s) {
    graph_.connect({gpus[static_cast<size_t>(wire.a)], gpus[static_cast<size_t>(wire.b)], kind, wire.count,
                    wire.count * gb_per_s, 0, -1});
  }

  void wire(const Synthetic::Hosts& spec, Index host, const std::vector<Index>& gpus) {
    const double speed = spec.wire_gb_per_s;
    switch (spec.wiring) {
      case Wiring::none: break;
      case Wiring::nvswitch: {
        const Index center = graph_.add("nvswitch", host, NvSwitchFacts{});
        for (const Index gpu : gpus) graph_.connect({gpu, center, LinkKind::nvlink, 1, speed, 0, -1});
        break;
      }
      case Wiring::mesh:
        for (int b = 1; b < spec.gpus; ++b) {
          for (int a = 0; a < b; ++a) join(gpus, {a, b, 1}, LinkKind::nvlink, speed);
        }
        break;
      case Wiring::ring:
        for (int a = 0; a + 1 < spec.gpus; ++a) join(gpus, {a, a + 1, 1}, LinkKind::xgmi, speed);
        if (spec.gpus > 2) join(gpus, {0, spec.gpus - 1, 1}, LinkKind::xgmi, speed);
        break;
      case Wiring::cube:
        for (const Wire& w : kCube) join(gpus, w, LinkKind::nvlink, speed);
        break;
      case Wiring::mi250:
        for (const Wire& w : kMi250) {
          if (w.a < spec.gpus && w.b < spec.gpus) join(gpus, w, LinkKind::xgmi, speed);
        }
        for (size_t i = 0; i < gpus.size(); ++i)
          graph_.get<GpuFacts>(gpus[i])->package = static_cast<int>(i / 2);
        break;
    }
  }

  void add_fabric(const Synthetic::Fabric& fabric) {
    const size_t all = hosts_.size();
    const size_t group = fabric.hosts_per_leaf > 0 ? static_cast<size_t>(fabric.hosts_per_leaf)
                         : fabric.ratio > 0        ? (all + 1) / 2
                                                   : all;
    struct Made {
      Index leaf;
      double down = 0;
    };
    std::vector<Made> made;
    for (size_t first = 0; first < all; first += group) {
      const size_t base = made.size();
      for (size_t host = first; host < std::min(first + group, all); ++host) {
        for (size_t nic = 0; nic < hosts_[host].size(); ++nic) {
          const size_t leaf = base + (fabric.rail ? nic : 0);
          while (made.size() <= leaf) {
            made.push_back(
                {graph_.add(fmt::format("leaf{}", made.size()), kNone, FabricSwitchFacts{1, 0, 0})});
          }
          const Index port = hosts_[host][nic];
          const double speed = graph_.get<PortFacts>(port)->mbit_per_s / 8000;
          graph_.connect({port, made[leaf].leaf, LinkKind::cable, 1, speed, 0,
                          fabric.rail ? static_cast<int>(nic) : -1});
          made[leaf].down += speed;
        }
      }
    }
    if (made.size() < 2) return;
    for (int i = 0; i < fabric.spines; ++i) {
      const Index spine = graph_.add(fmt::format("spine{}", i), kNone, FabricSwitchFacts{2, 0, 0});
      for (const Made& leaf : made) {
        const double up = leaf.down / std::max(fabric.ratio, fabric.ratio > 0 ? 0.0 : 1.0) / fabric.spines;
        graph_.connect({leaf.leaf, spine, LinkKind::cable, 1, up, 0, -1});
      }
    }
  }

  static constexpr double kBetweenPackages = 16;

  const Synthetic& machine_;
  Graph graph_;
  std::vector<Index> ports_;               ///< ports of the current host
  std::vector<std::vector<Index>> hosts_;  ///< ports; index: host
};

}  // namespace

Graph graph_of(const Synthetic& machine) { return SyntheticGraphBuilder(machine).build(); }

}  // namespace weir::topology
