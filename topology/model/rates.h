// SPDX-License-Identifier: Apache-2.0
/// Nominal data rates of known kinds of links, per direction, before protocol overhead.
///
/// Sources: PCI Express base specification (line codes); NVIDIA's and AMD's data sheets for NVLink and
/// Infinity Fabric between GPUs; for links between processors the figures that NCCL plans with, which are
/// what GPUs reach across them, far below the nominal rate.
/// Tests: tests/topology/model_test.cc
#pragma once

#include <string_view>

#include "topology/model/graph.h"

namespace weir::topology {

/// GB/s of a PCIe link of `width` lanes at `gt_per_s`; 0 if one of them is unknown.
double pcie_gb_per_s(double gt_per_s, int width);
/// The inverse: the GT/s of a generation from 1 to 6; 0 for others.
double pcie_gt_per_s(int generation);

/// GB/s of one NVLink of a GPU; `arch` as in GpuFacts ("sm_90"). 0: it has none, or the name is unknown.
double nvlink_gb_per_s(std::string_view arch);
/// GB/s of one Infinity Fabric link between two GPUs ("gfx942"); 0: the name is unknown.
double xgmi_gb_per_s(std::string_view arch);

/// GB/s between NUMA nodes of two packages with these processors.
double between_packages_gb_per_s(const CpuFacts& cpu);

/// GB/s of links that never limit: inside a device, between the NUMA nodes of one package.
inline constexpr double kInnerGbPerS = 5000;

}  // namespace weir::topology
