// SPDX-License-Identifier: Apache-2.0
/// The text of `rocm-smi --showtopo`: how the GPUs of one host are connected.
///
/// Source: what the tool prints, sections between banners of = signs, of any length: "Weight between two
/// GPUs" (15 for each xGMI link on the way, 20 and more for PCIe), "Hops between two GPUs" (1: by xGMI alone,
/// however far; 2: by one processor; 3: by several), "Link Type between two GPUs" (XGMI or PCIE) and "Numa
/// Nodes". GPUs are called GPU0 or GPU[0]; lines that begin with # are skipped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/formats/smi_matrix.h"

namespace weir::topology {

enum class RocmLink : uint8_t { unknown, self, xgmi, pcie };

/// -1: not known.
struct RocmSmiGpu {
  int number = 0;
  int numa_node = -1;
  int numa_affinity = -1;

  bool operator==(const RocmSmiGpu&) const = default;
};

struct RocmSmi {
  std::vector<RocmSmiGpu> gpus;
  SmiMatrix<int> weights;  ///< -1: "N/A"
  SmiMatrix<int> hops;     ///< -1: "N/A"
  SmiMatrix<RocmLink> links;

  bool operator==(const RocmSmi&) const = default;
};

/// Errors: no section of link types, matrices of different GPUs, words that do not fit, rows that are
/// missing, twice there, too short or too long, more than kMostSmiDevices GPUs. To notes: the two cells of a
/// pair that differ (both are kept), sections and lines that mean nothing here.
Result<RocmSmi> read_rocm_smi(const Source& source, Notes* notes = nullptr);

std::string write_rocm_smi(const RocmSmi& matrix);

/// One host with NUMA nodes, GPUs, and what connects them. The text has no speeds and no numbers of links, so
/// links have none and count as one.
///
/// XGMI is a link where there is one hop, of weight at most 15 (each is looked at where the text has it):
/// greater weights are ways over other GPUs. Every GPU has a link of kind pci to its NUMA node; the bridges
/// between are not known. GPUs without a NUMA node share one with those that PCIE reaches in two hops and
/// with those of which only XGMI is known, and that is noted. Of two cells of a pair the upper one counts.
///
/// To notes: GPUs without NUMA node, hops of PCIE that contradict the NUMA nodes (these count).
Result<Graph> graph_of(const RocmSmi& matrix, Notes* notes = nullptr, const SmiOptions& options = {});

}  // namespace weir::topology
