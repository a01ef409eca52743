// SPDX-License-Identifier: Apache-2.0
/// Things that are near each other, found from distances alone: agglomerative clustering with average
/// linkage.
///
/// Pure and deterministic. O(n^2) time and memory for n things.
#pragma once

#include <cstddef>
#include <vector>

namespace weir::topology {

/// Distances between n things, row by row: symmetric, not negative, 0 in the diagonal.
struct Distances {
  size_t size = 0;
  std::vector<double> values;

  explicit Distances(size_t n) : size(n), values(n * n) {}
  double& at(size_t a, size_t b) { return values[a * size + b]; }
  double at(size_t a, size_t b) const { return values[a * size + b]; }
};

/// By thing, its group's number; groups are numbered from 0 in the order of their first things.
using Grouping = std::vector<int>;
int groups_in(const Grouping& grouping);

/// How well a grouping fits: the mean silhouette. A thing that lies at `a` from its own group in the mean,
/// and at `b` from the nearest other group, counts (b - a) / (max(a, b) + noise); one alone in its group
/// counts 0. 1: groups are far apart and tight; 0 and below: no better than any other grouping.
double silhouette(const Distances& distances, const Grouping& grouping, double noise);

/// Mean distances from one thing to the others of its own group and to those of the nearest other group.
struct Neighbourhood {
  double own = 0;  ///< 0: it is alone
  double other = 0;
  int nearest = -1;  ///< that other group; -1: there is none
};
Neighbourhood neighbourhood(const Distances& distances, const Grouping& grouping, size_t thing);

/// The grouping with the highest silhouette among those that a cut through the tree of merges can give, at
/// its 8 largest steps; all in one group where none is above 0.
Grouping best_grouping(const Distances& distances, double noise);

}  // namespace weir::topology
