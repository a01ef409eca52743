// SPDX-License-Identifier: Apache-2.0
/// How figures and devices are written for people, the same in every view.
#pragma once

#include <string>

#include "topology/model/graph.h"

namespace weir::topology {

/// "450 GB/s", "31.5 GB/s", "0.25 GB/s": at most three digits that count; "? GB/s" for 0, which is not known.
std::string bandwidth_words(double gb_per_s);
/// Without the unit; "?" for what is not known.
std::string bandwidth_figure(double gb_per_s);
/// "PCIe x16 at 32 GT/s", with "of x16 at 64 GT/s" where it could be more; empty where nothing is known.
std::string pcie_words(const PciFacts& pci);
/// "GPU 3", "NIC mlx5_0", "switch 0000:10:00.0": short, within a host.
std::string device_words(const Graph& graph, Index node);
/// What a GPU is: "NVIDIA H100 (sm_90)", "gfx942"; "GPU 10de:2330" where only the bus has seen it.
std::string gpu_words(const GpuFacts& gpu);

}  // namespace weir::topology
