// SPDX-License-Identifier: Apache-2.0

#include "topology/model/merge_facts.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::topology {
namespace {

/// Fills field by field and keeps the first contradiction.
class Filler {
 public:
  explicit Filler(const std::string& what) : what_(what) {}

  template <typename T>
  void field(const char* name, T& into, const T& from, const T& unknown) {
    if (from == unknown || from == into) return;
    if (into == unknown) {
      into = from;
    } else if (status_.ok()) {
      status_ = {Code::invalid_argument,
                 fmt::format("two descriptions of {} contradict each other: {} is {} and {}", what_, name,
                             into, from)};
    }
  }
  void text(const char* name, std::string& into, const std::string& from) { field(name, into, from, {}); }

  void pci(PciFacts& a, const PciFacts& b) {
    text("its PCI address", a.address, b.address);
    field("its PCI class", a.class_code, b.class_code, 0u);
    field("its vendor", a.vendor, b.vendor, 0u);
    field("its device id", a.device, b.device, 0u);
    field("its subsystem's vendor", a.subsystem_vendor, b.subsystem_vendor, 0u);
    field("its subsystem", a.subsystem_device, b.subsystem_device, 0u);
    field("its PCIe rate in GT/s", a.gt_per_s, b.gt_per_s, 0.0);
    field("its PCIe width", a.width, b.width, 0);
    field("its highest PCIe rate in GT/s", a.most_gt_per_s, b.most_gt_per_s, 0.0);
    field("its highest PCIe width", a.most_width, b.most_width, 0);
  }
  void cpu(CpuFacts& a, const CpuFacts& b) {
    text("its architecture", a.arch, b.arch);
    text("its vendor", a.vendor, b.vendor);
    field("its CPU family", a.family, b.family, -1);
    field("its CPU model", a.model, b.model, -1);
  }

  void all(HostFacts& a, const HostFacts& b) {
    field("its identity", a.identity, b.identity, uint64_t{0});
    text("its hypervisor", a.hypervisor, b.hypervisor);
  }
  void all(PackageFacts& a, const PackageFacts& b) {
    field("its number", a.number, b.number, -1);
    cpu(a.cpu, b.cpu);
    text("its model", a.model_name, b.model_name);
  }
  void all(NumaFacts& a, const NumaFacts& b) {
    field("its number", a.number, b.number, -1);
    text("its affinity", a.affinity, b.affinity);
    cpu(a.cpu, b.cpu);
    field("its memory", a.memory_bytes, b.memory_bytes, uint64_t{0});
  }
  void all(BridgeFacts& a, const BridgeFacts& b) {
    a.root |= b.root;
    pci(a.pci, b.pci);
    for (const std::string& peer : b.peers) {
      if (std::find(a.peers.begin(), a.peers.end(), peer) == a.peers.end()) a.peers.push_back(peer);
    }
  }
  void all(GpuFacts& a, const GpuFacts& b) {
    pci(a.pci, b.pci);
    field("its number", a.device, b.device, -1);
    field("its rank", a.rank, b.rank, -1);
    text("its architecture", a.arch, b.arch);
    field("its compute units", a.units, b.units, 0);
    field("its features", a.features, b.features, 0u);
    a.gdr |= b.gdr;
    field("its package", a.package, b.package, -1);
    text("its UUID", a.uuid, b.uuid);
    text("its model", a.model_name, b.model_name);
  }
  void all(PartitionFacts& a, const PartitionFacts& b) {
    field("its number", a.number, b.number, -1);
    text("its profile", a.profile, b.profile);
    text("its UUID", a.uuid, b.uuid);
  }
  void all(NvSwitchFacts& a, const NvSwitchFacts& b) { pci(a.pci, b.pci); }
  void all(NicFacts& a, const NicFacts& b) {
    pci(a.pci, b.pci);
    text("its model", a.model_name, b.model_name);
  }
  void all(PortFacts& a, const PortFacts& b) {
    field("its device number", a.device, b.device, -1);
    field("its port number", a.number, b.number, -1);
    field("its speed in Mb/s", a.mbit_per_s, b.mbit_per_s, 0.0);
    field("its latency in us", a.latency_us, b.latency_us, 0.0);
    field("its GUID", a.guid, b.guid, uint64_t{0});
    field("its number of connections", a.most_connections, b.most_connections, 0);
    a.gdr |= b.gdr;
    a.in_network_reduction |= b.in_network_reduction;
    if (a.layer == PortLayer::unknown) a.layer = b.layer;
    a.active &= b.active;
    field("its LID", a.lid, b.lid, 0);
    field("its rail", a.rail, b.rail, -1);
    field("its plane", a.plane, b.plane, -1);
  }
  void all(FabricSwitchFacts& a, const FabricSwitchFacts& b) {
    field("its level", a.level, b.level, 0);
    field("its GUID", a.guid, b.guid, uint64_t{0});
    field("its number of ports", a.ports, b.ports, 0);
  }

  Status done() { return std::move(status_); }

 private:
  const std::string& what_;
  Status status_;
};

}  // namespace

Status fill(Facts& into, const Facts& from, const std::string& what) {
  Filler filler(what);
  std::visit(
      [&](auto& facts) {
        using T = std::decay_t<decltype(facts)>;
        filler.all(facts, std::get<T>(from));
      },
      into);
  return filler.done();
}

}  // namespace weir::topology
