// SPDX-License-Identifier: Apache-2.0
/// Trees for a collective on a given network, their time, and its distance from the bound.
///
/// Latencies are ignored: the figure is the time per byte of long messages. Pure and thread-safe.
/// Tests: tests/algorithms/planner_test.cc
#pragma once

#include <optional>
#include <vector>

#include "algorithms/bound/bound.h"
#include "algorithms/network/network.h"
#include "algorithms/packing/pack.h"
#include "src/base/status.h"

namespace weir::algorithms {

struct TreePlan {
  Collective collective = Collective::all_gather;
  Rank root = 0;  ///< root rank, for rooted collectives only
  Bound bound;
  std::optional<Packed> up;    ///< trees that sum, packed into the reversed network
  std::optional<Packed> down;  ///< trees that spread
  bool free_roots = false;     ///< an all-reduce whose trees sum and spread at the same time (two_way.h)
  Rational time;               ///< T / M, times one unit of capacity, as in Bound
  Rational part_of_bound;      ///< the bound's time / time: at most 1, which is optimal
};

/// Supports all-gather, reduce-scatter, broadcast, reduce, and all-reduce: as a reduce-scatter and an
/// all-gather of equal blocks if that can reach the bound; if it cannot, up to kMostFreeRoots ranks, with
/// free roots: the better of the two. The result has been judged: the packings by check_packing() and
/// check_both(), the bound by check_bound(). Errors: invalid_argument for other collectives, fewer than two
/// ranks, and networks that bound and packing refuse.
Result<TreePlan> plan_trees(const Network& network, Collective collective, Rank root = 0,
                            const PackingGoal& goal = {});

/// More ranks take seconds.
inline constexpr int kMostFreeRoots = 64;

/// The load of each edge of the network, of `bytes` in total.
std::vector<double> edge_bytes(const TreePlan& trees, const Network& network, double bytes);

}  // namespace weir::algorithms
