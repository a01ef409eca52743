// SPDX-License-Identifier: Apache-2.0
/// Texts for figures and devices, the same in every view.
/// Tests: tests/topology/views_text_test.cc
#pragma once

#include <string>

#include "topology/model/graph.h"

namespace weir::topology {

/// "450 GB/s", "31.5 GB/s", "0.25 GB/s": at most three significant digits; "? GB/s" for 0, which means
/// unknown.
std::string bandwidth_words(double gb_per_s);
/// The same without the unit; "?" if unknown.
std::string bandwidth_figure(double gb_per_s);
/// "PCIe x16 at 32 GT/s", with "of x16 at 64 GT/s" if it could be faster; empty if nothing is known.
std::string pcie_words(const PciFacts& pci);
/// A short name within a host: "GPU 3", "NIC mlx5_0", "switch 0000:10:00.0".
std::string device_words(const Graph& graph, Index node);
/// The model of a GPU: "NVIDIA H100 (sm_90)", "gfx942"; "GPU 10de:2330" if only the bus has identified it.
std::string gpu_words(const GpuFacts& gpu);

}  // namespace weir::topology
