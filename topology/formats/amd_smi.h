// SPDX-License-Identifier: Apache-2.0
/// The output of `amd-smi topology`: how the GPUs of one host are connected.
///
/// Source: the tool's output, tables below titles such as "LINK TYPE TABLE:", with a PCI address per row and
/// column. Read are WEIGHT, HOPS and LINK TYPE, which mean the same as in the output of rocm-smi
/// (rocm_smi.h), and NUMA BW ("50000-200000": MB/s of one link and of all links between two GPUs; "0-0" or
/// "N/A": unknown). The other tables (access, coherency, atomics, DMA, direction) are not needed.
/// Tests: tests/topology/amd_smi_test.cc
#pragma once

#include <string>
#include <vector>

#include "topology/formats/rocm_smi.h"

namespace weir::topology {

/// MB/s; 0: unknown.
struct AmdSmiBandwidth {
  int64_t least = 0;
  int64_t most = 0;

  bool operator==(const AmdSmiBandwidth&) const = default;
};

struct AmdSmiReport {
  std::vector<std::string> addresses;  ///< PCI addresses, in the order of the GPU numbers
  SmiMatrix<int> weights;              ///< -1: "N/A"
  SmiMatrix<int> hops;                 ///< -1: "N/A"
  SmiMatrix<RocmLink> links;
  SmiMatrix<AmdSmiBandwidth> bandwidths;

  bool operator==(const AmdSmiReport&) const = default;
};

/// Errors: no table of link types, tables of different GPUs, invalid words, rows that are missing, duplicate,
/// too short or too long, more than kMostSmiDevices GPUs. Notes: unknown tables and lines.
Result<AmdSmiReport> read_amd_smi(const Source& source, Notes* notes = nullptr);

/// The graph of rocm_smi.h, with PCI addresses, and with the rates and numbers of xGMI links where the table
/// NUMA BW has them.
Result<Graph> graph_of(const AmdSmiReport& report, Notes* notes = nullptr, const SmiOptions& options = {});

}  // namespace weir::topology
