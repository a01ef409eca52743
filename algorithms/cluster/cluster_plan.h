// SPDX-License-Identifier: Apache-2.0
/// A plan for many hosts in few words: who hands which blocks to whom, and how hosts of one shape do it
/// inside.
///
/// Each rank that sends has one block; blocks are numbered in the order of hosts, and within a host
/// in that of its shape's ranks. In a plan with free roots a host has any number of blocks, and its ranks
/// share each of them.
/// A block goes from host to host along a tree of transfers, and every host gets it once. Of a block that
/// comes from outside, each gate of the host takes a part and hands it down trees to all ranks of the host.
/// What ranks of the host own goes down other trees; as these reach the gates too, they can send on all.
///
/// It spreads. Run backwards, a plan of the reversed network sums. The size is that of the network plus a
/// few spans per host, never one entry per pair of ranks.
///
/// Values: no I/O, no threads.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/cluster/blocks.h"
#include "algorithms/network/network.h"
#include "algorithms/packing/trees.h"

namespace weir::algorithms {

/// Where a share of foreign blocks enters a host, and where as much of all blocks may leave it.
struct Gate {
  Rank rank = 0;             ///< of the host's own network
  int uplink = 0;            ///< of the host
  int64_t parts = 0;         ///< that it takes of every foreign block
  std::vector<int32_t> in;   ///< edges from the uplink's node to the rank, over switches
  std::vector<int32_t> out;  ///< and back
};

/// What equal hosts have in common. Nodes, edges and ranks have numbers of their own here.
struct HostShape {
  Network network;
  std::vector<int32_t> uplinks;  ///< nodes with an edge from and one to a switch between hosts
  std::vector<int32_t> blocks;   ///< by rank: 1 where it has a block, else 0; free roots: 0
  std::vector<Gate> gates;
  Packing own;      ///< shares in proportion to `blocks`; no trees if there are none. Free roots: any shares
  Packing foreign;  ///< shares in proportion to the parts of the ranks' gates
};

/// Edges of the whole network.
struct Uplink {
  int32_t in = 0;
  int32_t out = 0;
};

struct Host {
  int32_t shape = 0;
  std::vector<int32_t> nodes;   ///< by node of the shape: of the whole network
  std::vector<int32_t> edges;   ///< by edge of the shape
  std::vector<Uplink> uplinks;  ///< by uplink of the shape
};

struct Transfer {
  int32_t from = 0;  ///< hosts
  int32_t to = 0;
  Blocks blocks;
};

/// How blocks get from hosts of one shape to hosts of another: parts that leave by one gate and enter by
/// another.
struct Coupling {
  struct Piece {
    int32_t out = 0;  ///< gate of the sender
    int32_t in = 0;   ///< gate of the receiver
    int64_t parts = 0;
  };
  int32_t from = 0;  ///< shapes
  int32_t to = 0;
  std::vector<Piece> pieces;  ///< by `in`
};

/// Paths between two switches between hosts, which take turns.
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
  int64_t parts = 1;        ///< of every block
  int levels = 0;           ///< of groups of hosts that get every foreign block once
  bool free_roots = false;  ///< half of an all-reduce whose data is divided among hosts as it suits
  std::vector<HostShape> shapes;
  std::vector<Host> hosts;
  std::vector<int64_t> first_block;  ///< by host, and how many blocks there are
  std::vector<Transfer> transfers;
  std::vector<Coupling> couplings;  ///< by (from, to): of all pairs of shapes between which transfers go
  std::vector<Way> ways;            ///< by (from, to): of all pairs of different switches on the way
};

}  // namespace weir::algorithms
