// SPDX-License-Identifier: Apache-2.0
/// The text of `nvidia-smi topo -m`: how the GPUs and NICs of one host are connected.
///
/// Source: what the tool prints (its legend explains the cells), as printed with tabs or as people paste it
/// with blanks; colours and lines that begin with # are skipped. Cells: X, PIX (at most one PCIe bridge
/// between), PXB (several), PHB (a host bridge), NODE (host bridges of one NUMA node), SYS or, before 2017,
/// SOC (several NUMA nodes), NV# (# NVLinks, which hide the PCIe relation). Columns behind: CPU Affinity,
/// NUMA Affinity, GPU NUMA ID. Behind the matrix a legend, and one of NICs ("NIC0: mlx5_0").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/formats/smi_matrix.h"

namespace weir::topology {

enum class SmiPath : uint8_t { unknown, self, nvlink, pix, pxb, phb, node, sys };

struct SmiCell {
  SmiPath path = SmiPath::unknown;
  int links = 0;  ///< of nvlink

  bool operator==(const SmiCell&) const = default;
};

/// Texts are empty where nothing is said, which is not the same as "N/A".
struct NvidiaSmiDevice {
  std::string name;           ///< "GPU0", "NIC0", "mlx5_0"
  std::string nic;            ///< "mlx5_0", from the legend
  std::string cpu_affinity;   ///< "0-31,64-95"
  std::string numa_affinity;  ///< "0", "0-1"
  std::string gpu_numa;       ///< the NUMA node that a GPU's own memory is

  bool operator==(const NvidiaSmiDevice&) const = default;
};

struct NvidiaSmi {
  std::vector<NvidiaSmiDevice> devices;
  SmiMatrix<SmiCell> cells;

  bool operator==(const NvidiaSmi&) const = default;
};

/// Errors: no matrix, words that are no cell, rows that are missing, twice there or too long, X elsewhere
/// than on the diagonal, NVLinks of NICs, more than kMostSmiDevices devices. To notes: rows that are too
/// short (their cells are unknown), the two cells of a pair that differ (both are kept), lines that mean
/// nothing here.
Result<NvidiaSmi> read_nvidia_smi(const Source& source, Notes* notes = nullptr);

/// With tabs, without explanations.
std::string write_nvidia_smi(const NvidiaSmi& matrix);

/// One host with NUMA nodes, PCIe bridges, GPUs, NICs (each with one port), NVSwitches and what connects
/// them. The text has no speeds, so the links have none.
///
/// Devices that are PIX apart share a switch (also two functions of one adapter, for which the tool says PIX
/// too), PXB the switch above, PHB a root bridge, NODE or one affinity a NUMA node; SYS or another affinity:
/// several. Where NVLink or a gap hides the relation, devices are as far apart as the others' cells and
/// affinities allow, but those of which nothing at all is known share a NUMA node. Of two cells of a pair the
/// upper one counts.
///
/// NVLinks: GPUs each pair of which has the same # of links, with # * (GPUs - 1) more than a GPU has
/// (SmiOptions::most_nvlinks), cannot be cabled directly: they are at an NVSwitch, with # links each (one
/// node for all switches of the host). All others are links from GPU to GPU.
///
/// To notes: cells and affinities that contradict each other (of the cells the nearer counts; what an
/// affinity and a cell each call one NUMA node is one), groups of which nothing says whether they share a
/// NUMA node, more NVLinks than a GPU has.
Result<Graph> graph_of(const NvidiaSmi& matrix, Notes* notes = nullptr, const SmiOptions& options = {});

}  // namespace weir::topology
