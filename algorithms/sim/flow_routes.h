// SPDX-License-Identifier: Apache-2.0
/// The routes of bytes between two ranks.
///
/// A route is a path with the fewest edges, among those one with the widest narrowest edge, and among those
/// the one that earlier routes use least relative to its capacity: an even distribution over the equal-cost
/// paths (ECMP) of a fabric. It passes other ranks only if it must: they would have to forward foreign data.
/// Inside a host it passes them rather than a network cable, as AMD's fabric forwards from GPU to GPU.
///
/// The order of the calls determines which of several equal paths is returned; the same calls give the same
/// results. One thread at a time.
/// Tests: tests/algorithms/sim_routes_test.cc
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/network/network.h"
#include "src/base/status.h"
#include "src/base/types.h"

namespace weir::sim {

using algorithms::Network;

class FlowRoutes {
 public:
  /// Keeps a reference to the network.
  explicit FlowRoutes(const Network& network);

  /// The edges from rank `src` to rank `dst`, for their channel with this number (0 to 65535); the same for
  /// repeated calls. Valid until the next call. A way other than `any` limits the links: to NVLink, to xGMI,
  /// to those inside a host that are neither, or (`net`) to paths with a network cable. Errors:
  /// invalid_argument if a rank does not exist, src is dst, or there is no path by that way.
  Result<std::span<const int32_t>> route(Rank src, Rank dst, uint32_t channel = 0,
                                         ir::MoveWay way = ir::MoveWay::any);
  /// Whether a route leads over a network cable and passes a rank on its way, which would have to forward.
  bool needs_forwarding(std::span<const int32_t> route) const;
  /// The way that a route takes; `any` if its links are of several kinds, or the network does not tell.
  ir::MoveWay way_of(std::span<const int32_t> route) const;

 private:
  /// Half of a search: the nodes seen from one end.
  struct Side {
    std::vector<uint32_t> first_edge;  // index: node; first index in edges
    std::vector<int32_t> edges;        // edges out of the nodes, or into them
    std::vector<uint32_t> seen;        // index: node; number of the last search that saw it
    std::vector<int32_t> depth;        // index: node
    std::vector<int32_t> border;       // nodes of the last depth
    std::vector<int32_t> steps;        // edges to the next depth, in the order of depths
    std::vector<double> best;          // index: node; for the current pass
    std::vector<int32_t> step;         // index: node; the edge that led there
  };

  bool is_cable(int32_t edge) const;
  int32_t head(int32_t edge, bool forward) const;
  int32_t tail(int32_t edge, bool forward) const { return head(edge, !forward); }
  void find_ways();
  void find_hosts();
  void index(bool forward);
  bool find(int32_t from, int32_t to);
  bool search(int32_t from, int32_t to, bool through_ranks);
  void expand(bool forward, int32_t goal, bool through_ranks);
  size_t cost_of_border(const Side& side) const;
  void widest(bool forward, int32_t start);
  void least_used(bool forward, int32_t start, double width);
  void trace(int32_t meeting, int32_t from, int32_t to);
  Side& side(bool forward) { return forward ? ahead_ : behind_; }

  const Network& network_;
  std::vector<char> is_rank_;           // index: node
  std::vector<char> allows_;            // index: edge; bit w: links of way w may be this one
  std::vector<int32_t> host_of_;        // index: node; equal if paths without cables connect them
  ir::MoveWay way_ = ir::MoveWay::any;  // of the current search
  bool over_cables_ = true;             // in the current search
  std::vector<double> uses_;            // index: edge; routes over it / its capacity
  Side ahead_, behind_;
  uint32_t search_ = 0;
  std::vector<int32_t> meetings_;                                  // nodes seen from both ends
  std::unordered_map<uint64_t, std::pair<size_t, size_t>> known_;  // first and last index in edges_
  std::vector<int32_t> edges_;
};

}  // namespace weir::sim
