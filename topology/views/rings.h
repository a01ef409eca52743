// SPDX-License-Identifier: Apache-2.0
/// GPUs on a ring, in an order in which their links cross least.
#pragma once

#include <vector>

#include "topology/views/layout.h"

namespace weir::topology {

/// A link between two of n things, by their numbers.
struct Chord {
  int a = 0;
  int b = 0;
  double weight = 1;
};

/// The numbers 0 to n - 1 around the ring: few crossings, then short ways for heavy links. What crosses no
/// more in order of number stays in that order.
std::vector<int> ring_order(int n, const std::vector<Chord>& chords);

/// How far from the middle n of them are placed.
double ring_radius(int n);
/// Where the one at `position` of the order is, around (0, 0). The first is the left one of the top.
Point ring_point(int n, int position);

}  // namespace weir::topology
