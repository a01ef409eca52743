// SPDX-License-Identifier: Apache-2.0
/// A compact plan for many hosts: the transfers of blocks between hosts, and the trees inside the hosts of
/// each shape.
///
/// Each rank that sends has one block; blocks are numbered in the order of hosts, and within a host in the
/// order of its shape's ranks. In a plan with free roots a host has any number of blocks, and its ranks share
/// each of them.
/// A block moves from host to host along a tree of transfers, and every host receives it once. Each gate of
/// the host takes a part of every foreign block and sends it down trees to all ranks of the host. Blocks of
/// the host's own ranks go down other trees; as these reach the gates too, the gates can send the blocks on.
/// Direct parts are an exception: each rank receives them by its own gates, so that no tree carries them.
///
/// The plan spreads data. Run backwards, a plan of the reversed network adds data up. Its size is that of the
/// network plus a few spans per host, never one entry per pair of ranks.
///
/// Values: no I/O, no threads.
/// Tests: tests/algorithms/cluster_proof_test.cc
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cluster/blocks.h"
#include "algorithms/network/network.h"
#include "algorithms/packing/trees.h"

namespace weir::algorithms {

/// Where a share of foreign blocks enters a host, and an equal share of all blocks can leave it.
struct Gate {
  Rank rank = 0;             ///< rank in the host's own network
  int uplink = 0;            ///< index of the host's uplink
  int64_t parts = 0;         ///< number of parts that it takes of every foreign block, for the whole host
  int64_t direct = 0;        ///< number of direct parts that it takes, for its rank alone
  std::vector<int32_t> in;   ///< edges from the uplink's node to the rank, over switches
  std::vector<int32_t> out;  ///< edges back to the uplink
};

/// The common description of equal hosts. It has its own numbering of nodes, edges and ranks.
struct HostShape {
  Network network;
  std::vector<int32_t> uplinks;  ///< nodes with edges from and to a switch between hosts
  std::vector<int32_t> blocks;   ///< index: rank; 1 if it has a block, else 0; free roots: 0
  std::vector<Gate> gates;
  Packing own;      ///< shares in proportion to `blocks`, if there are any. Free roots: any shares
  Packing foreign;  ///< shares in proportion to the parts of the ranks' gates
};

/// Edges of the whole network.
struct Uplink {
  int32_t in = 0;
  int32_t out = 0;
};

struct Host {
  int32_t shape = 0;
  std::vector<int32_t> nodes;   ///< index: node of the shape; node of the whole network
  std::vector<int32_t> edges;   ///< index: edge of the shape; edge of the whole network
  std::vector<Uplink> uplinks;  ///< index: uplink of the shape
};

struct HostTransfer {
  int32_t from = 0;  ///< index of the sending host
  int32_t to = 0;
  Blocks blocks;
};

/// How blocks move from hosts of one shape to hosts of another: parts that leave by one gate and enter by
/// another.
struct Coupling {
  struct Piece {
    int32_t out = 0;  ///< index of the sender's gate
    int32_t in = 0;   ///< index of the receiver's gate
    int64_t parts = 0;
  };
  int32_t from = 0;  ///< index of the sender's shape
  int32_t to = 0;
  std::vector<Piece> pieces;  ///< sorted by `in`
  std::vector<Piece> direct;  ///< of direct parts; sorted by `in`
};

/// Paths between two switches between hosts, which are used alternately.
struct Way {
  struct Path {
    int64_t weight = 1;
    std::vector<int32_t> edges;
  };
  int32_t from = 0;
  int32_t to = 0;
  std::vector<Path> paths;
};

struct ClusterPlan {
  int64_t parts = 1;         ///< number of parts of every block
  int64_t direct_parts = 0;  ///< the last of them enter a foreign host once for each of its ranks
  int levels = 0;            ///< number of levels of groups of hosts that receive every foreign block once
  bool free_roots = false;   ///< half of an all-reduce whose data is divided among hosts as needed
  std::vector<HostShape> shapes;
  std::vector<Host> hosts;
  std::vector<int64_t> first_block;  ///< index: host, plus the number of blocks at the end
  std::vector<HostTransfer> transfers;
  std::vector<Coupling> couplings;  ///< sorted by (from, to): all pairs of shapes with transfers
  std::vector<Way> ways;            ///< sorted by (from, to): pairs of different switches
};

}  // namespace weir::algorithms
