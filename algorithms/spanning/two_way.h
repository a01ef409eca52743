// SPDX-License-Identifier: Apache-2.0
/// Trees for an all-reduce with roots as they come: what a tree has summed up it also spreads.
///
/// An all-reduce as a reduce-scatter and an all-gather makes every rank the root of an equal share, which is
/// not the best where some ranks have less bandwidth than others: when only a part of a machine is used, or
/// boxes are of different sizes. With free roots any spanning tree will do, sums going up to its root and
/// down again, so that it takes as much of each link one way as the other. So the most there can be is the
/// number of spanning trees that share no link (Tutte 1961, Nash-Williams 1961).
///
///   1. whole numbers of trees per link (packing/rounding.h);
///   2. switches are split off (splitting.h);
///   3. spanning trees (forests.h), each hung up at its middle: that says how much of every link leads down,
///      and which ranks are roots of how many;
///   4. packed anew with these figures (packing/arborescences.h), which makes the trees low and alike.
///
/// Pure and deterministic; thread-safe.
#pragma once

#include "algorithms/packing/pack.h"
#include "weir/status.h"

namespace weir::algorithms {

/// The same trees twice: `up`, of the reversed network, sum at the same time as `down` spread.
struct TwoWay {
  Packed up;
  Packed down;
};

/// Such trees, few of them first, their number being that of all roots together: no loss if that is possible
/// with goal.most_trees, else goal.enough. `bound`: no all-reduce can have more bandwidth, in units of
/// capacity; that of algorithms/bound is the best. What a link has more one way than the other is not used.
///
/// Time: about a millisecond for 8 ranks, and it grows with their cube. Errors: invalid_argument for a
/// network that check() refuses, fewer than two ranks, a bound that is not above 0, a goal without trees, or
/// ranks that cannot reach each other.
Result<TwoWay> pack_two_way(const Network& network, const Rational& bound, const PackingGoal& goal = {});

}  // namespace weir::algorithms
