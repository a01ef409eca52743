// SPDX-License-Identifier: Apache-2.0
/// The order of GPUs on a ring with the fewest link crossings.
/// Tests: tests/topology/views_test.cc
#pragma once

#include <vector>

#include "topology/views/layout.h"

namespace weir::topology {

/// A link between two of n items, by their numbers.
struct Chord {
  int a = 0;
  int b = 0;
  double weight = 1;
};

/// The numbers 0 to n - 1 around the ring: few crossings, then short distances for heavy links. If the
/// numerical order has no more crossings, it is kept.
std::vector<int> ring_order(int n, const std::vector<Chord>& chords);

/// The radius of a ring of n items.
double ring_radius(int n);
/// The point of the item at `position` in the order, around (0, 0). The first item is the left one at the
/// top.
Point ring_point(int n, int position);

}  // namespace weir::topology
