// SPDX-License-Identifier: Apache-2.0
/// The output of `rocm-smi --showtopo`: how the GPUs of one host are connected.
///
/// Source: the tool's output, sections between banners of = signs of any length: "Weight between two GPUs"
/// (15 per xGMI link on the path, 20 and more for PCIe), "Hops between two GPUs" (1: by xGMI alone, over any
/// distance; 2: by one processor; 3: by several), "Link Type between two GPUs" (XGMI or PCIE) and "Numa
/// Nodes". GPUs are named GPU0 or GPU[0]; lines that begin with # are skipped.
/// Tests: tests/topology/rocm_smi_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/formats/smi_matrix.h"

namespace weir::topology {

enum class RocmLink : uint8_t { unknown, self, xgmi, pcie };

/// -1: unknown.
struct RocmSmiReportGpu {
  int number = 0;
  int numa_node = -1;
  int numa_affinity = -1;

  bool operator==(const RocmSmiReportGpu&) const = default;
};

struct RocmSmiReport {
  std::vector<RocmSmiReportGpu> gpus;
  SmiMatrix<int> weights;  ///< -1: "N/A"
  SmiMatrix<int> hops;     ///< -1: "N/A"
  SmiMatrix<RocmLink> links;

  bool operator==(const RocmSmiReport&) const = default;
};

/// Errors: no section of link types, matrices of different GPUs, invalid words, rows that are missing,
/// duplicate, too short or too long, more than kMostSmiDevices GPUs. Notes: differing cells of one pair (both
/// are kept), unknown sections and lines.
Result<RocmSmiReport> read_rocm_smi(const Source& source, Notes* notes = nullptr);

/// One host with NUMA nodes, GPUs, and their links. The text has no speeds and no numbers of links, so links
/// have no speed and a count of one.
///
/// XGMI is a link if there is one hop, of weight at most 15 (each is checked if the text has it): greater
/// weights are paths over other GPUs. Every GPU has a link of kind pci to its NUMA node; the bridges between
/// are unknown. GPUs without a NUMA node share one with those that PCIE reaches in two hops and with those
/// connected only by XGMI, which is noted. If the two cells of a pair differ, the upper one counts.
///
/// Notes: GPUs without NUMA node; PCIE hops that contradict the NUMA nodes (the NUMA nodes count).
Result<Graph> graph_of(const RocmSmiReport& matrix, Notes* notes = nullptr, const SmiOptions& options = {});

}  // namespace weir::topology
