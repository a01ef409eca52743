// SPDX-License-Identifier: Apache-2.0
/// Weights: whole numbers of which only the proportions matter.
/// Tests: tests/algorithms/free_cluster_test.cc
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace weir::algorithms {

/// Divides by the greatest common divisor. If all weights are 0, they are unchanged.
inline void to_lowest_terms(std::vector<int64_t>& weights) {
  int64_t divisor = 0;
  for (const int64_t weight : weights) divisor = std::gcd(divisor, weight);
  for (int64_t& weight : weights) weight /= std::max<int64_t>(divisor, 1);
}

}  // namespace weir::algorithms
