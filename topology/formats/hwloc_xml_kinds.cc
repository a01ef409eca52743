// SPDX-License-Identifier: Apache-2.0

#include "topology/formats/hwloc_xml_kinds.h"

#include <algorithm>
#include <array>

#include "topology/formats/hwloc_xml_fields.h"

namespace weir::topology::hwloc {
namespace {

constexpr uint32_t kIntel = 0x8086;

bool has_child(const HwlocObject& object, const auto& fits) {
  return std::any_of(object.children.begin(), object.children.end(), fits);
}

}  // namespace

bool is_device(const HwlocObject& object) {
  return object.type == "Bridge" || object.type == "PCIDev" || object.type == "OSDev";
}

GpuLibrary library_of(const HwlocObject& object, int& device) {
  struct Prefix {
    std::string_view text;
    GpuLibrary library;
  };
  constexpr std::array<Prefix, 5> kPrefixes = {{{"nvml", GpuLibrary::nvml},
                                                {"rsmi", GpuLibrary::rsmi},
                                                {"cuda", GpuLibrary::cuda},
                                                {"ze", GpuLibrary::level_zero},
                                                {"opencl", GpuLibrary::opencl}}};
  if (object.type != "OSDev") return GpuLibrary::none;
  for (const auto& [text, library] : kPrefixes) {
    if (!object.name.starts_with(text)) continue;
    std::string_view number = std::string_view(object.name).substr(text.size());
    if (library == GpuLibrary::opencl) number.remove_prefix(std::min(number.find('d') + 1, number.size()));
    int64_t read = 0;
    if (!parse_int(number, read) || read < 0 || read > INT32_MAX) return GpuLibrary::none;
    device = static_cast<int>(read);
    return library;
  }
  return GpuLibrary::none;
}

NicDriver network_of(const HwlocXml& document, const HwlocObject& object) {
  if (object.type != "OSDev" || object.osdev_type < 0) return NicDriver::none;
  if (document.version.starts_with('3')) {  // a mask since version 3
    constexpr int kInterface = 16;
    constexpr int kVerbs = 32;
    if ((object.osdev_type & kVerbs) != 0) return NicDriver::verbs;
    return (object.osdev_type & kInterface) != 0 ? NicDriver::interface : NicDriver::none;
  }
  constexpr int kInterface = 2;
  constexpr int kVerbs = 3;
  if (object.osdev_type == kVerbs) return NicDriver::verbs;
  return object.osdev_type == kInterface ? NicDriver::interface : NicDriver::none;
}

Function function_of(const HwlocXml& document, const HwlocObject& object, const PciFacts& pci) {
  constexpr uint32_t kDisplay = 0x03;
  constexpr uint32_t kThreeD = 0x0302;
  constexpr uint32_t kOtherDisplay = 0x0380;
  constexpr uint32_t kAccelerator = 0x1200;
  constexpr uint32_t kNetwork = 0x02;
  constexpr uint32_t kInfiniband = 0x0c06;
  constexpr uint32_t kOtherBridge = 0x0680;
  const uint32_t subclass = pci.class_code >> 8;
  const uint32_t base = subclass >> 8;
  const bool computes = has_child(object, [](const HwlocObject& child) {
    int device = 0;
    return library_of(child, device) != GpuLibrary::none;
  });
  if (computes || subclass == kAccelerator || subclass == kThreeD) return Function::gpu;
  if (base == kDisplay && (pci.vendor == kNvidia || pci.vendor == kAmd)) return Function::gpu;
  if (subclass == kOtherDisplay && pci.vendor == kIntel) return Function::gpu;
  // hwloc shows switches that it cannot read; only NVML has identified them.
  if (object.subtype == "NVSwitch" || (subclass == kOtherBridge && pci.vendor == kNvidia))
    return Function::nvswitch;
  const bool has_verbs = has_child(object, [&document](const HwlocObject& child) {
    return network_of(document, child) == NicDriver::verbs;
  });
  return base == kNetwork || subclass == kInfiniband || has_verbs ? Function::nic : Function::other;
}

}  // namespace weir::topology::hwloc
