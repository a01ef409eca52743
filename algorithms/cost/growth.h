// SPDX-License-Identifier: Apache-2.0
/// Profiles of plans that are too large to be made only in order to be compared.
///
/// Pure.
#pragma once

#include "algorithms/cost/profile.h"

namespace weir::cost {

/// The profile `doublings` doublings beyond the last of three, whose ranks double from one to the next. Each
/// figure goes on as it came: what it grows by changes by the same factor with every doubling. That is exact
/// for what grows with the ranks (the hops of a ring, factor 2), with their logarithm (those of a tree,
/// factor 1), or towards a limit as (n - 1)/n does (factor 1/2).
Profile grown(const Profile& quarter, const Profile& half, const Profile& whole, double doublings);

/// The environment of the first `places`.
Environment first_places(const Environment& around, int places);

}  // namespace weir::cost
