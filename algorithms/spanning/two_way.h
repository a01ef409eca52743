// SPDX-License-Identifier: Apache-2.0
/// Trees for an all-reduce with free roots: each tree spreads what it has summed.
///
/// An all-reduce as a reduce-scatter and an all-gather makes every rank the root of an equal share, which is
/// not optimal if some ranks have less bandwidth than others: if only a part of a machine is used, or hosts
/// are of different sizes. With free roots any spanning tree can be used, with sums going up to its root and
/// down again, so that it uses each link equally in both directions. The maximum is therefore the number of
/// spanning trees that share no link (Tutte 1961, Nash-Williams 1961).
///
///   1. whole numbers of trees per link (packing/rounding.h);
///   2. switches are split off (splitting.h);
///   3. spanning trees (forests.h), each rooted at its middle: that determines how much of every link leads
///      down, and of how many trees each rank is the root;
///   4. packing with these figures (packing/arborescences.h), which makes the trees low and similar.
///
/// Pure and deterministic; thread-safe.
/// Tests: tests/algorithms/spanning_test.cc
#pragma once

#include "algorithms/packing/pack.h"
#include "src/base/status.h"

namespace weir::algorithms {

/// The same trees twice: `up`, of the reversed network, sum at the same time as `down` spread.
struct TwoWay {
  Packed up;
  Packed down;
};

/// Such trees, preferably few of them (counted over all roots): without loss if that is possible with
/// goal.most_trees, else with goal.enough. `bound`: the maximum bandwidth of an all-reduce, in units of
/// capacity; that of algorithms/bound is best. If a link has more capacity in one direction, the excess is
/// not used.
///
/// Time: about a millisecond for 8 ranks, growing with their cube. Errors: invalid_argument for a network
/// that check() refuses, fewer than two ranks, a bound that is not above 0, a goal without trees, or ranks
/// that cannot reach each other.
Result<TwoWay> pack_two_way(const Network& network, const Rational& bound, const PackingGoal& goal = {});

}  // namespace weir::algorithms
