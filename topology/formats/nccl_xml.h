// SPDX-License-Identifier: Apache-2.0
/// Topology files of NCCL (version 1) and RCCL (version 2): one or several hosts, without a network.
///
/// Source of the format: src/graph/xml.cc and topo.cc of NCCL 2.28 and 2.30 and of RCCL 2.21. Where those
/// drop or replace what they do not understand, this reader refuses or notes it: unknown tags and attributes,
/// speeds of 0, links to the GPU itself or to targets that are not in the file, addresses and GPU numbers
/// that occur twice. Files of clouds with PCI classes only (PCI tags without gpu tags) are complete
/// descriptions of what they show. Ignored: `keep`, and the kind of plugin that uses a network device (`net`,
/// `gin`, `rma`).
/// Tests: tests/topology/nccl_xml_test.cc
#pragma once

#include <string>

#include "topology/formats/source.h"
#include "topology/model/graph.h"

namespace weir::topology {

enum class NcclDialect : uint8_t { nccl, rccl };

struct NcclXml {
  NcclDialect dialect = NcclDialect::nccl;
  Graph graph;

  bool operator==(const NcclXml&) const = default;
};

/// Bandwidths come from rates.h, those of C2C links and ports from the file. Errors: invalid_argument with
/// file and line. With `notes`, elements that may be ignored are noted instead.
Result<NcclXml> read_nccl_xml(const Source& source, Notes* notes = nullptr);

/// Writes a file that NCCL or RCCL can read. What the format cannot express (packages, root complexes,
/// partitions, switches of networks) is omitted. Reading the written file of a graph that was read gives the
/// same graph.
std::string write_nccl_xml(const NcclXml& file);

/// RCCL for a graph with AMD GPUs.
NcclDialect dialect_of(const Graph& graph);

}  // namespace weir::topology
