// SPDX-License-Identifier: Apache-2.0
/// What the objects of hwloc's XML are. Internal to hwloc_xml_*.cc.
#pragma once

#include <cstdint>

#include "topology/formats/hwloc_xml.h"

namespace weir::topology::hwloc {

/// Makers, as PCI numbers them.
inline constexpr uint32_t kNvidia = 0x10de;
inline constexpr uint32_t kAmd = 0x1002;

/// A bridge, a PCI function or a device of the operating system.
bool is_device(const HwlocObject& object);

/// Whose name for a GPU a device of the operating system is. The first is the best for its number.
enum class Library { nvml, rsmi, cuda, level_zero, opencl, none };

/// `device` becomes its number there ("opencl0d3": 3 of platform 0).
Library library_of(const HwlocObject& object, int& device);

/// What of the network a device of the operating system is.
enum class Network { none, interface, verbs };

Network network_of(const HwlocXml& document, const HwlocObject& object);

/// What a PCI function is; see graph_of() in hwloc_xml.h.
enum class Function { other, gpu, nic, nvswitch };

Function function_of(const HwlocXml& document, const HwlocObject& object, const PciFacts& pci);

}  // namespace weir::topology::hwloc
