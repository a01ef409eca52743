// SPDX-License-Identifier: Apache-2.0

#include "topology/views/rings.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <utility>

namespace weir::topology {
namespace {

constexpr size_t kMostChords = 120;
constexpr int kMostSweeps = 12;

struct Cost {
  int64_t crossings = 0;
  double length = 0;

  bool below(const Cost& other) const {
    if (crossings != other.crossings) return crossings < other.crossings;
    return length < other.length * (1 - 1e-9);
  }
};

/// `place`: position of each number.
Cost cost_of(const std::vector<Chord>& chords, const std::vector<int>& place) {
  Cost cost;
  const auto n = static_cast<double>(place.size());
  std::vector<std::pair<int, int>> ends;
  ends.reserve(chords.size());
  for (const Chord& chord : chords) {
    const int a = place[static_cast<size_t>(chord.a)], b = place[static_cast<size_t>(chord.b)];
    ends.emplace_back(std::min(a, b), std::max(a, b));
    cost.length += chord.weight * std::sin(std::numbers::pi * std::abs(a - b) / n);
  }
  for (size_t i = 0; i < ends.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const auto [a, b] = ends[i];
      const auto [c, d] = ends[j];
      cost.crossings += (a < c && c < b && b < d) || (c < a && a < d && d < b) ? 1 : 0;
    }
  }
  return cost;
}

std::vector<int> places(const std::vector<int>& order) {
  std::vector<int> place(order.size());
  for (size_t i = 0; i < order.size(); ++i) place[static_cast<size_t>(order[i])] = static_cast<int>(i);
  return place;
}

/// The best improvement by exchanging two items or reversing a section; false: there is none.
bool improve(const std::vector<Chord>& chords, std::vector<int>& order, Cost& cost) {
  std::vector<int> best;
  const auto begin = order.begin();
  const auto consider = [&](const std::vector<int>& candidate) {
    const Cost other = cost_of(chords, places(candidate));
    if (!other.below(cost)) return;
    cost = other;
    best = candidate;
  };
  for (int64_t i = 0; i < static_cast<int64_t>(order.size()); ++i) {
    for (int64_t j = i + 1; j < static_cast<int64_t>(order.size()); ++j) {
      std::vector<int> candidate(begin, order.end());
      std::swap(candidate[static_cast<size_t>(i)], candidate[static_cast<size_t>(j)]);
      consider(candidate);
      candidate = order;
      std::reverse(candidate.begin() + i, candidate.begin() + j + 1);
      consider(candidate);
    }
  }
  if (best.empty()) return false;
  order = best;
  return true;
}

}  // namespace

std::vector<int> ring_order(int n, const std::vector<Chord>& chords) {
  std::vector<int> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (n < 4 || chords.size() > kMostChords) return order;
  Cost cost = cost_of(chords, order);
  for (int i = 0; i < kMostSweeps && improve(chords, order, cost); ++i) {
  }
  std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
  return order;
}

double ring_radius(int n) {
  if (n == 2) return 80;
  const double pitch = n <= 8 ? 122 : 96;
  return std::max(84.0, n * pitch / (2 * std::numbers::pi));
}

Point ring_point(int n, int position) {
  // An even number has two items at the top, so that the picture has a left and a right half.
  const double turn = n == 2 ? -0.5 : n % 2 == 0 ? -0.25 - 0.5 / n : -0.25;
  const double angle = 2 * std::numbers::pi * (turn + static_cast<double>(position) / n);
  return {ring_radius(n) * std::cos(angle), ring_radius(n) * std::sin(angle)};
}

}  // namespace weir::topology
