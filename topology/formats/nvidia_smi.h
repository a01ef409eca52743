// SPDX-License-Identifier: Apache-2.0
/// The output of `nvidia-smi topo -m`: how the GPUs and NICs of one host are connected.
///
/// Source: the tool's output (its legend explains the cells), with tabs as printed or with blanks as often
/// pasted; colours and lines that begin with # are skipped. Cells: X, PIX (at most one PCIe switch between),
/// PXB (several), PHB (a host bridge), NODE (host bridges of one NUMA node), SYS or, before 2017, SOC
/// (several NUMA nodes), NV# (# NVLinks, which hide the PCIe relation). Columns after the cells: CPU
/// Affinity, NUMA Affinity, GPU NUMA ID. After the matrix come a legend and one of NICs ("NIC0: mlx5_0").
/// Tests: tests/topology/nvidia_smi_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/formats/smi_matrix.h"

namespace weir::topology {

enum class SmiPath : uint8_t { unknown, self, nvlink, pix, pxb, phb, node, sys };

struct SmiCell {
  SmiPath path = SmiPath::unknown;
  int links = 0;  ///< number of links, for nvlink only

  bool operator==(const SmiCell&) const = default;
};

/// Empty texts mean that nothing is given, which differs from "N/A".
struct NvidiaSmiDevice {
  std::string name;           ///< "GPU0", "NIC0", "mlx5_0"
  std::string nic;            ///< "mlx5_0", from the legend
  std::string cpu_affinity;   ///< "0-31,64-95"
  std::string numa_affinity;  ///< "0", "0-1"
  std::string gpu_numa;       ///< number of the NUMA node that is the GPU's own memory

  bool operator==(const NvidiaSmiDevice&) const = default;
};

struct NvidiaSmi {
  std::vector<NvidiaSmiDevice> devices;
  SmiMatrix<SmiCell> cells;

  bool operator==(const NvidiaSmi&) const = default;
};

/// Errors: no matrix, invalid cells, rows that are missing, duplicate or too long, X outside the diagonal,
/// NVLinks of NICs, more than kMostSmiDevices devices. Notes: rows that are too short (their cells are
/// unknown), differing cells of one pair (both are kept), unknown lines.
Result<NvidiaSmi> read_nvidia_smi(const Source& source, Notes* notes = nullptr);

/// One host with NUMA nodes, PCIe switchs, GPUs, NICs (each with one port), NVSwitches and their links. The
/// text has no speeds, so the links have none.
///
/// Devices that are PIX apart share a switch (also two functions of one adapter, for which the tool prints
/// PIX too), PXB the switch above, PHB a root bridge, NODE or one affinity a NUMA node; SYS or another
/// affinity: several. If NVLink or a missing cell hides the relation, devices are placed as far apart as the
/// others' cells and affinities allow, but devices about which nothing is known share a NUMA node. If the two
/// cells of a pair differ, the upper one counts.
///
/// NVLinks: if all pairs of some GPUs have the same number # of links, and # * (GPUs - 1) is more than a GPU
/// has (SmiOptions::most_nvlinks), they cannot be cabled directly: they are connected to an NVSwitch, with #
/// links each (one node for all switches of the host). All others are links from GPU to GPU.
///
/// Notes: contradictory cells and affinities (of cells the nearer path counts; devices that an affinity or a
/// cell puts on one NUMA node are on one), groups for which nothing tells whether they share a NUMA node,
/// more NVLinks than a GPU has.
Result<Graph> graph_of(const NvidiaSmi& matrix, Notes* notes = nullptr, const SmiOptions& options = {});

}  // namespace weir::topology
