// SPDX-License-Identifier: Apache-2.0

#include "topology/detect/doctor.h"

#include <fmt/format.h>

#include <algorithm>

#include "topology/detect/acs.h"

namespace weir::topology {
namespace {

using Weight = Diagnosis::Weight;

constexpr uint64_t kMiB = uint64_t{1} << 20;

/// The properties of a graph's first host that the checks below need.
struct Devices {
  bool nvidia = false;
  bool verbs = false;
  size_t on_pci = 0;  ///< number of GPUs and NICs

  explicit Devices(const Graph& graph) {
    for (Index node = 0; node < graph.size(); ++node) {
      if (graph.holder(node, NodeKind::host) != 0) continue;  // belongs to another host
      const auto* gpu = graph.get<GpuFacts>(node);
      const auto* port = graph.get<PortFacts>(node);
      nvidia |= gpu != nullptr && gpu->pci.vendor == 0x10de;
      verbs |= port != nullptr && port->layer == PortLayer::infiniband;
      on_pci += gpu != nullptr || graph.get<NicFacts>(node) != nullptr ? 1 : 0;
    }
  }
};

void diagnose_limits(const drivers::Limits& limits, const Devices& devices,
                     std::vector<Diagnosis>& diagnoses) {
  if (limits.memlock_bytes < 64 * kMiB && devices.verbs) {
    diagnoses.push_back(
        {Weight::wrong,
         fmt::format("a process may lock only {} KiB of memory, but all buffers of a NIC must be locked",
                     limits.memlock_bytes / 1024),
         "ulimit -l unlimited, or memlock in /etc/security/limits.conf (docker: --ulimit memlock=-1)"});
  }
  if (limits.shm_bytes < 64 * kMiB) {
    diagnoses.push_back(
        {Weight::notable,
         fmt::format(
             "/dev/shm has only {} MiB: weir does not use it, but other libraries and data loaders do",
             limits.shm_bytes / kMiB),
         "make it larger (docker: --shm-size=1g)"});
  }
  if (limits.open_files < 4096) {
    diagnoses.push_back(
        {Weight::notable,
         fmt::format("a process may open only {} files; each connection and each allocation takes one",
                     limits.open_files),
         "ulimit -n 65536"});
  }
}

void diagnose_iommu(drivers::Files& files, const Devices& devices, std::vector<Diagnosis>& diagnoses) {
  if (devices.on_pci < 2 || files.list("/sys/class/iommu").empty()) return;
  const std::string arguments = " " + files.read("/proc/cmdline").value_or("") + " ";
  if (arguments.find(" iommu=pt ") != std::string::npos ||
      arguments.find("iommu.passthrough=1") != std::string::npos)
    return;
  diagnoses.push_back({Weight::notable,
                       "an IOMMU translates peer-to-peer traffic of devices: between GPUs and NICs this "
                       "reduces the bandwidth or prevents direct access",
                       "boot with iommu=pt"});
}

/// "a, b, c and 5 more".
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > kMost ? text + fmt::format(" and {} more", names.size() - kMost) : text;
}

void diagnose_acs(drivers::Files& files, const Devices& devices, const Graph& graph,
                  std::vector<Diagnosis>& diagnoses) {
  if (devices.on_pci < 2) return;
  const AcsFindings acs = find_acs(files, graph);
  if (!acs.redirecting.empty()) {
    diagnoses.push_back({Weight::wrong,
                         fmt::format("PCIe switches redirect traffic between GPUs and NICs below them to the "
                                     "root complex, because ACS is enabled at {}",
                                     listed(acs.redirecting)),
                         "as root, for each: setpci -s ADDRESS ECAP_ACS+6.w=0 (again after each boot), or "
                         "disable ACS in the firmware; keep it if virtual machines own the devices"});
  }
  if (acs.hidden > 0) {
    diagnoses.push_back(
        {Weight::notable,
         fmt::format(
             "it is unknown whether PCIe switches redirect peer-to-peer traffic to the root complex (ACS): "
             "for {} of their ports only the first 64 bytes of the configuration space can be read",
             acs.hidden),
         "run weir doctor as root"});
  }
}

}  // namespace

std::vector<Diagnosis> diagnose_host(drivers::Machine& machine, const Graph& graph) {
  std::vector<Diagnosis> diagnoses;
  const Devices devices(graph);
  if (Result<drivers::Limits> limits = machine.limits(); limits.ok())
    diagnose_limits(*limits, devices, diagnoses);
  diagnose_iommu(machine.files(), devices, diagnoses);
  diagnose_acs(machine.files(), devices, graph, diagnoses);
  if (devices.nvidia && devices.verbs && machine.files().list("/sys/module/nvidia_peermem").empty()) {
    diagnoses.push_back({Weight::notable,
                         "the module nvidia_peermem is not loaded: NICs reach GPU memory only if the kernel "
                         "and the driver support dma-buf",
                         "modprobe nvidia_peermem"});
  }
  return diagnoses;
}

}  // namespace weir::topology
