// SPDX-License-Identifier: Apache-2.0
/// Slurm's topology.yaml (since 25.05, man topology.yaml): several named topologies of the kinds of
/// slurm_topology.h.
///
///   - topology: pod1
///     cluster_default: true
///     tree:
///       switches:
///         - switch: spine
///           children: leaf[1-2]
///         - switch: leaf1
///           nodes: node[01-16]
///   - topology: racks
///     block:
///       block_sizes: [18, 36]
///       blocks:
///         - block: rack1
///           nodes: node[01-18]
///   - topology: rest
///     flat: true
///
/// Lists of names are those of hostlist.h; a YAML list of such lists counts as one list.
/// Tests: tests/topology/topology_yaml_test.cc
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/formats/slurm_topology.h"

namespace weir::topology {

struct SlurmTopologies {
  struct Named {
    std::string name;
    bool cluster_default = false;
    SlurmTopology topology;

    bool operator==(const Named&) const = default;
  };
  std::vector<Named> list;

  bool operator==(const SlurmTopologies&) const = default;
};

/// Errors: those of parse_yaml() and read_slurm_topology(); unknown keys; not exactly one of tree, block and
/// flat. Ignored with a note: topologies of the kinds ring and torus3d.
Result<SlurmTopologies> read_topology_yaml(const Source& source, Notes* notes = nullptr);

/// The graph of one of the topologies, see graph_of(SlurmTopology). Without a name: the only one, else the
/// first with cluster_default.
Result<Graph> graph_of(const SlurmTopologies& topologies, std::string_view name = "");

}  // namespace weir::topology
