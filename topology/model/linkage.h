// SPDX-License-Identifier: Apache-2.0
/// Agglomerative clustering with average linkage: finds groups of near items from distances alone.
///
/// Pure and deterministic. O(n^2) time and memory for n items.
/// Tests: tests/topology/measured_test.cc
#pragma once

#include <cstddef>
#include <vector>

namespace weir::topology {

/// Distances between n items, row by row: symmetric, non-negative, 0 on the diagonal.
struct Distances {
  size_t size = 0;
  std::vector<double> values;

  explicit Distances(size_t n) : size(n), values(n * n) {}
  double& at(size_t a, size_t b) { return values[a * size + b]; }
  double at(size_t a, size_t b) const { return values[a * size + b]; }
};

/// The group number of each item; groups are numbered from 0 in the order of their first items.
using Grouping = std::vector<int>;
int groups_in(const Grouping& grouping);

/// The quality of a grouping: the mean silhouette. An item with mean distance `a` to its own group and `b` to
/// the nearest other group counts (b - a) / (max(a, b) + noise); an item that is alone in its group counts 0.
/// 1: groups are far apart and tight; 0 and below: no better than any other grouping.
double silhouette(const Distances& distances, const Grouping& grouping, double noise);

/// Mean distances of one item to the others of its own group and to those of the nearest other group.
struct Neighbourhood {
  double own = 0;  ///< 0: the item is alone in its group
  double other = 0;
  int nearest = -1;  ///< number of the nearest other group; -1: there is none
};
Neighbourhood neighbourhood(const Distances& distances, const Grouping& grouping, size_t thing);

/// The grouping with the highest silhouette among the cuts through the merge tree at its 8 largest steps; one
/// group if no silhouette is above 0.
Grouping best_grouping(const Distances& distances, double noise);

}  // namespace weir::topology
