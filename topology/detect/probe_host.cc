// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include "src/base/host.h"
#include "topology/detect/probe.h"

namespace weir::topology {
namespace {

/// Providers of virtual machines by firmware strings; the first match counts.
struct Known {
  const char* word;
  const char* name;
};
constexpr Known kKnown[] = {{"Amazon EC2", "Amazon EC2"},
                            {"Google", "Google Compute Engine"},
                            {"Microsoft", "Hyper-V"},
                            {"VMware", "VMware"},
                            {"OpenStack", "OpenStack"},
                            {"VirtualBox", "VirtualBox"},
                            {"Alibaba", "Alibaba Cloud"},
                            {"QEMU", "QEMU/KVM"},
                            {"KVM", "KVM"},
                            {"Xen", "Xen"}};

std::string hypervisor(drivers::Files& files) {
  std::string said;
  for (const char* file :
       {"/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name", "/sys/hypervisor/type"})
    said += files.read(file).value_or("") + "\n";
  for (const Known& known : kKnown) {
    if (said.find(known.word) != std::string::npos) return known.name;
  }
  return "not named";
}

}  // namespace

void probe_host(Probe& probe) {
  HostFacts& facts = *probe.graph.get<HostFacts>(probe.host());
  const std::string name = probe.files.read("/proc/sys/kernel/hostname").value_or("");
  const std::string boot = probe.files.read("/proc/sys/kernel/random/boot_id").value_or("");
  if (!name.empty()) probe.graph[probe.host()].name = name;
  if (!boot.empty()) facts.identity = hash_text(name + boot);

  const std::string cpuinfo = probe.files.read("/proc/cpuinfo").value_or("");
  if (cpuinfo.find(" hypervisor") != std::string::npos) {
    facts.hypervisor = hypervisor(probe.files);
    probe.found(fmt::format("a virtual machine (hypervisor: {})", facts.hypervisor));
    bool switches = false;
    for (const Index node : probe.graph.all(NodeKind::bridge))
      switches |= !probe.graph.get<BridgeFacts>(node)->root;
    if (!switches) {
      probe.doubt(
          "the virtual machine shows no PCIe switches: the distances between devices are unknown unless a "
          "topology file describes them (NCCL_TOPO_FILE)");
    }
  }
  for (const char* file : {"/.dockerenv", "/run/.containerenv"}) {
    if (probe.files.real_path(file)) {
      probe.found("a container: devices that are not assigned to it are invisible");
      break;
    }
  }
}

}  // namespace weir::topology
