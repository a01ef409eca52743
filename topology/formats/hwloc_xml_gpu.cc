// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include "topology/formats/hwloc_xml_build.h"
#include "topology/formats/hwloc_xml_fields.h"
#include "topology/formats/hwloc_xml_kinds.h"

namespace weir::topology::hwloc {
namespace {

using Names = std::vector<const HwlocObject*>;  ///< devices of several libraries that are one GPU

/// The GPUs at a PCI function, each with its names. An AMD GPU that is split into several has one function
/// and one ROCm SMI name per part; devices of other libraries there belong to the first.
std::vector<Names> gpus_at(const HwlocObject& function) {
  std::vector<Names> gpus(1);
  size_t of_rsmi = 0;
  for (const HwlocObject& child : function.children) {
    int device = 0;
    const GpuLibrary library = library_of(child, device);
    if (library == GpuLibrary::none) continue;
    if (library == GpuLibrary::rsmi && ++of_rsmi > 1) {
      gpus.push_back({&child});
    } else {
      gpus.front().push_back(&child);
    }
  }
  return gpus;
}

void describe(const HwlocObject& name, GpuFacts& gpu) {
  for (const char* const uuid : {"NVIDIAUUID", "AMDUUID", "LevelZeroUUID"}) {
    if (const std::string* text = find(name.infos, uuid); text != nullptr && gpu.uuid.empty())
      gpu.uuid = *text;
  }
  if (const std::string* model = find(name.infos, "GPUModel"); model != nullptr && gpu.model_name.empty())
    gpu.model_name = *model;
  int64_t units = 0;
  const std::string* text = find(name.infos, "OpenCLComputeUnits");
  if (text != nullptr && gpu.pci.vendor == kAmd && parse_int(*text, units) && units > 0 && units <= INT32_MAX)
    gpu.units = static_cast<int>(units);
}

}  // namespace

Status add_gpus(Build& build, const HwlocObject& object, const PciFacts& pci, const Above& above) {
  const std::vector<Names> gpus = gpus_at(object);
  for (const Names& names : gpus) {
    GpuFacts gpu;
    gpu.pci = pci;
    GpuLibrary best = GpuLibrary::none;
    for (const HwlocObject* name : names) {
      if (!build.gpu_names.insert(name->name).second)
        return build.refuse(fmt::format("two GPUs have the name {}", name->name));
      describe(*name, gpu);
      int device = 0;
      const GpuLibrary library = library_of(*name, device);
      if (library >= best) continue;
      best = library;
      gpu.device = device;
    }
    if (gpu.device >= 0 && !build.gpu_numbers.emplace(pci.vendor, gpu.device).second) {
      WEIR_TRY(
          build.leave_out(fmt::format("two GPUs of vendor {:04x} have the number {}; that of {} is ignored",
                                      pci.vendor, gpu.device, names.front()->name)));
      gpu.device = -1;
    }
    if (gpus.size() > 1) gpu.package = build.split_gpus;
    const std::string* model = find(object.infos, "PCIDevice");
    if (gpu.model_name.empty()) gpu.model_name = model != nullptr ? *model : object.name;
    const std::string name = build.free_name(above.parent(), NodeKind::gpu, object.pci_busid);
    const Index node = build.graph.add(name, above.parent(), std::move(gpu));
    connect_above(build, node, object, above);
    build.nodes.try_emplace(&object, node);
    for (const HwlocObject* device : names) build.nodes[device] = node;
  }
  if (gpus.size() > 1) ++build.split_gpus;
  return {};
}

}  // namespace weir::topology::hwloc
