// SPDX-License-Identifier: Apache-2.0
/// How fast links of known kinds are: nominal data rates per direction, before protocol overhead.
///
/// Sources: PCI Express base specification (line codes); NVIDIA's and AMD's data sheets for NVLink and
/// Infinity Fabric between GPUs; for links between processors the figures that NCCL plans with, which are
/// what GPUs reach across them, far below the nominal rate.
#pragma once

#include <string_view>

#include "topology/model/graph.h"

namespace weir::topology {

/// GB/s of a PCIe link of `width` lanes at `gt_per_s`; 0 where one of them is not known.
double pcie_gb_per_s(double gt_per_s, int width);
/// The other way: the GT/s of a generation from 1 to 6; 0 for others.
double pcie_gt_per_s(int generation);

/// GB/s of one NVLink of a GPU; `arch` as in GpuFacts ("sm_90"). 0: it has none, or the name is not known.
double nvlink_gb_per_s(std::string_view arch);
/// GB/s of one Infinity Fabric link between two GPUs ("gfx942"); 0: the name is not known.
double xgmi_gb_per_s(std::string_view arch);

/// GB/s between NUMA nodes of two packages with such processors.
double between_packages_gb_per_s(const CpuFacts& cpu);

/// Of what never limits: inside a device, between the NUMA nodes of one package.
inline constexpr double kInnerGbPerS = 5000;

}  // namespace weir::topology
