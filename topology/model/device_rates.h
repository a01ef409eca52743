// SPDX-License-Identifier: Apache-2.0
/// What is known about a device from its name or its PCI identity: the table of assumptions.
///
/// Functions of their arguments.
/// Tests: tests/topology/assumed_rates_test.cc
#pragma once

#include <string>
#include <string_view>

#include "topology/model/graph.h"

namespace weir::topology {

/// A rate and why it was chosen.
struct NamedRate {
  double gb_per_s = 0;
  std::string name;  ///< "NVLink 3", "Gen4 x16"

  bool operator==(const NamedRate&) const = default;
};

/// The architecture of a GPU ("sm_90", "gfx942"): as given, else by its PCI device number, else by its model
/// name; empty: unknown.
std::string arch_of(const GpuFacts& gpu);
/// By the NVLinks that all GPUs of a generation have: 6, 12 or 18; empty for other numbers.
std::string arch_of_nvlinks(int links);

/// One NVLink of that architecture; the default for an unknown one.
NamedRate assumed_nvlink(std::string_view arch);
/// One Infinity Fabric link between two GPUs.
NamedRate assumed_xgmi(std::string_view arch);
/// All links between a GPU and its processor.
NamedRate assumed_c2c(std::string_view arch);
/// The PCIe generation of a GPU; 0: unknown.
int pcie_generation(std::string_view arch);
/// 16 lanes of a generation from 1 to 6.
NamedRate assumed_pcie(int generation);
/// One port of a NIC, by its PCI identity, its model name or the name of its port ("mlx5_0"). If these do not
/// tell the rate: what hosts with such GPUs usually have.
NamedRate assumed_nic(const NicFacts& nic, std::string_view port, std::string_view gpu_arch);
/// Between two NUMA nodes of different packages.
NamedRate assumed_between_numas(const CpuFacts& cpu);
/// All NVLinks of a host that a block of Slurm contains.
NamedRate assumed_block(double of_one_nvlink);

}  // namespace weir::topology
