// SPDX-License-Identifier: Apache-2.0
/// Extrapolates profiles of plans that are too large to be made only for comparison.
///
/// Pure.
/// Tests: tests/algorithms/cost_test.cc
#pragma once

#include "algorithms/cost/profile.h"

namespace weir::cost {

/// The profile `doublings` doublings beyond the last of three, whose ranks double from one to the next. Each
/// figure is extrapolated: its growth changes by the same factor with every doubling. That is exact for
/// figures that grow with the ranks (the hops of a ring, factor 2), with their logarithm (those of a tree,
/// factor 1), or towards a limit as (n - 1)/n does (factor 1/2).
Profile grown(const Profile& quarter, const Profile& half, const Profile& whole, double doublings);

/// The environment of the first `places` positions.
Environment first_places(const Environment& around, int places);

}  // namespace weir::cost
