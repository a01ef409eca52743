// SPDX-License-Identifier: Apache-2.0
/// Classifies the objects of hwloc's XML. Internal to hwloc_xml_*.cc.
/// Tests: tests/topology/hwloc_graph_test.cc
#pragma once

#include <cstdint>

#include "topology/formats/hwloc_xml.h"

namespace weir::topology::hwloc {

/// PCI vendor numbers.
inline constexpr uint32_t kNvidia = 0x10de;
inline constexpr uint32_t kAmd = 0x1002;

/// Whether an object is a bridge, a PCI function or an operating-system device.
bool is_device(const HwlocObject& object);

/// Which library's GPU name an operating-system device has. The first library is the preferred one for the
/// number.
enum class GpuLibrary { nvml, rsmi, cuda, level_zero, opencl, none };

/// `device` becomes its number in that library ("opencl0d3": 3 of platform 0).
GpuLibrary library_of(const HwlocObject& object, int& device);

/// The network role of an operating-system device.
enum class NicDriver { none, interface, verbs };

NicDriver network_of(const HwlocXml& document, const HwlocObject& object);

/// The kind of a PCI function; see graph_of() in hwloc_xml.h.
enum class Function { other, gpu, nic, nvswitch };

Function function_of(const HwlocXml& document, const HwlocObject& object, const PciFacts& pci);

}  // namespace weir::topology::hwloc
