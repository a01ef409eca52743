// SPDX-License-Identifier: Apache-2.0
/// Topology files of NCCL (version 1) and RCCL (version 2): one host or several, without a network.
///
/// Source of the format: src/graph/xml.cc and topo.cc of NCCL 2.28 and 2.30 and of RCCL 2.21. Where those
/// drop or replace what they do not understand, we refuse it, or note it: unknown tags and attributes, speeds
/// of 0, targets of links that are not in the file. Class-only files of clouds (PCI tags without gpu tags)
/// are complete descriptions of what they show. Left out: `keep`, and which kind of plugin uses a network
/// device (`net`, `gin`, `rma`).
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
/// file and line. With `notes`, what may be left out is noted instead.
Result<NcclXml> read_nccl_xml(const Source& source, Notes* notes = nullptr);

/// A file that NCCL or RCCL reads. What the format cannot hold (packages, root complexes, partitions,
/// switches of networks) is left out. A graph that was read is written such that reading gives it again.
std::string write_nccl_xml(const NcclXml& file);

/// RCCL for a graph with AMD's GPUs.
NcclDialect dialect_of(const Graph& graph);

}  // namespace weir::topology
