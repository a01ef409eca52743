// SPDX-License-Identifier: Apache-2.0
/// Slurm's topology.conf (man topology.conf): the tree form and the block form; also what `scontrol show
/// topology` prints about either.
///
///   SwitchName=leaf1 Nodes=node[01-16] LinkSpeed=100      BlockName=rack1 Nodes=node[01-18]
///   SwitchName=spine Switches=leaf[1-4]                   BlockSizes=18,36
///
/// One switch, block or list of sizes per line; keys in upper or lower case; '#' begins a comment; a
/// backslash at the end continues the line; values may be in quotation marks. Lists of names are those of
/// hostlist.h. scontrol adds keys, lists the nodes below every switch, and lists combinations of blocks; of
/// these only the form above is kept:
///
///   SwitchName=spine Level=1 LinkSpeed=1 Nodes=node[01-64] Switches=leaf[1-4]
///   BlockName=rack1 BlockIndex=0 Nodes=node[01-18] BlockSize=18
///   AggregatedBlock=rack[1-2] BlockIndex=2 Nodes=node[01-36] BlockSize=36
/// Tests: tests/topology/slurm_topology_test.cc
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/formats/listing.h"
#include "topology/formats/source.h"
#include "topology/model/graph.h"

namespace weir::topology {

/// A leaf switch has nodes, any other switch has switches below it; one of a skeleton has neither.
struct SlurmSwitch {
  std::string name;
  std::vector<std::string> nodes;
  std::vector<std::string> switches;
  int64_t link_speed = -1;  ///< a number without a unit, which Slurm itself does not use; -1: not given

  bool operator==(const SlurmSwitch&) const = default;
};

struct SlurmBlock {
  std::string name;
  std::vector<std::string> nodes;

  bool operator==(const SlurmBlock&) const = default;
};

/// Contains switches (a tree), or blocks, or neither (flat: nothing is known).
struct SlurmTopology {
  std::vector<SlurmSwitch> switches;
  std::vector<SlurmBlock> blocks;
  std::vector<int> block_sizes;  ///< numbers of nodes, ascending; how Slurm combines blocks

  bool operator==(const SlurmTopology&) const = default;
};

/// Errors: unknown or repeated keys; a switch with both nodes and switches; switches that are not defined, or
/// below themselves; a name defined twice, a node in two leaves or blocks; switches and blocks in one file;
/// Include and rings. Notes: a line that repeats an earlier one, which is ignored; switches and blocks with
/// nothing below them (skeletons for nodes that Slurm adds later).
Result<SlurmTopology> read_slurm_topology(const Source& source, Notes* notes = nullptr);

/// A tree: hosts, switches with levels (a leaf is a switch with nodes), cables of unknown speed (0):
/// LinkSpeed has no unit and stays in the document.
///
/// Blocks: hosts connected by something faster than the network, today NVLink. Each block is a switch of
/// level 1 with its name, to which its hosts are connected by LinkKind::nvlink of unknown speed. The
/// connection between blocks is not given, so there are no links between them.
///
/// Errors: those of read_slurm_topology(), and a flat topology.
Result<Graph> graph_of(const SlurmTopology& topology);

namespace slurm {

/// Checks any topology; items are switches, or blocks if there are no switches.
Status check(const SlurmTopology& topology, const Refuse& refuse);

/// The note about a switch or block without nodes.
std::string empty_sentence(const char* kind, const std::string& name);

}  // namespace slurm
}  // namespace weir::topology
