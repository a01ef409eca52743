// SPDX-License-Identifier: Apache-2.0
/// Which way the bytes between two ranks go.
///
/// A route is a path with the fewest edges, among those one with the widest narrowest edge, and among those
/// the one that earlier routes use least for its capacity: what a fabric's equal-cost paths (ECMP) would be
/// if they were dealt out evenly. It passes other ranks only where there is no way around them: they would
/// have to forward what is not theirs.
///
/// The order of the questions decides who gets which of several equal paths; the same questions get the same
/// answers. One thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algorithms/network/network.h"
#include "src/base/types.h"
#include "weir/status.h"

namespace weir::sim {

using algorithms::Network;

class FlowRoutes {
 public:
  /// Keeps a reference to the network.
  explicit FlowRoutes(const Network& network);

  /// The edges from rank `src` to rank `dst`, for their channel of this number (0 to 65535); asked again, the
  /// same. Valid until the next call. Errors: invalid_argument where a rank does not exist, src is dst, or no
  /// path leads there.
  Result<std::span<const int32_t>> route(Rank src, Rank dst, uint32_t channel = 0);

 private:
  /// Half of a search: what has been seen from one end.
  struct Side {
    std::vector<uint32_t> first_edge;  // by node: in edges
    std::vector<int32_t> edges;        // leaving the nodes, or coming into them
    std::vector<uint32_t> seen;        // by node: number of the search that saw it last
    std::vector<int32_t> depth;        // by node
    std::vector<int32_t> border;       // nodes of the last depth
    std::vector<int32_t> steps;        // edges that go one deeper, by depth
    std::vector<double> best;          // by node, of the pass under way
    std::vector<int32_t> step;         // by node: the edge that led there
  };

  int32_t head(int32_t edge, bool forward) const;
  int32_t tail(int32_t edge, bool forward) const { return head(edge, !forward); }
  void index(bool forward);
  bool search(int32_t from, int32_t to, bool through_ranks);
  void expand(bool forward, int32_t goal, bool through_ranks);
  size_t cost_of_border(const Side& side) const;
  void widest(bool forward, int32_t start);
  void least_used(bool forward, int32_t start, double width);
  void trace(int32_t meeting, int32_t from, int32_t to);
  Side& side(bool forward) { return forward ? ahead_ : behind_; }

  const Network& network_;
  std::vector<char> is_rank_;  // by node
  std::vector<double> uses_;   // by edge: routes over it / its capacity
  Side ahead_, behind_;
  uint32_t search_ = 0;
  std::vector<int32_t> meetings_;                                  // nodes seen from both ends
  std::unordered_map<uint64_t, std::pair<size_t, size_t>> known_;  // first edge and end, in edges_
  std::vector<int32_t> edges_;
};

}  // namespace weir::sim
