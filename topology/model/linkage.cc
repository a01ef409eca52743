// SPDX-License-Identifier: Apache-2.0

#include "topology/model/linkage.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace weir::topology {
namespace {

constexpr size_t kCuts = 8;

struct Merge {
  size_t a;
  size_t b;
  double height;
};

/// Merges nearest neighbours as soon as they are found (nearest-neighbour chain), which for average linkage
/// gives the tree of the classic order in O(n^2).
std::vector<Merge> merge_all(Distances distances) {
  const size_t n = distances.size;
  std::vector<double> sizes(n, 1);  // 0: merged into another
  std::vector<size_t> chain;
  std::vector<Merge> merges;
  while (merges.size() + 1 < n) {
    if (chain.empty())
      chain.push_back(static_cast<size_t>(
          std::find_if(sizes.begin(), sizes.end(), [](double s) { return s > 0; }) - sizes.begin()));
    const size_t last = chain.back();
    // Of equally near items the previous one of the chain, so that the chain ends; else the first.
    size_t nearest = chain.size() > 1 ? chain[chain.size() - 2] : n;
    double least = nearest < n ? distances.at(last, nearest) : std::numeric_limits<double>::infinity();
    for (size_t other = 0; other < n; ++other) {
      if (sizes[other] == 0 || other == last || distances.at(last, other) >= least) continue;
      least = distances.at(last, other);
      nearest = other;
    }
    if (chain.size() < 2 || nearest != chain[chain.size() - 2]) {
      chain.push_back(nearest);
      continue;
    }
    chain.resize(chain.size() - 2);
    merges.push_back({last, nearest, least});
    const double sum = sizes[last] + sizes[nearest];
    for (size_t other = 0; other < n; ++other) {
      const double mean =
          (sizes[last] * distances.at(last, other) + sizes[nearest] * distances.at(nearest, other)) / sum;
      distances.at(nearest, other) = distances.at(other, nearest) = mean;
    }
    sizes[nearest] = sum;
    sizes[last] = 0;
  }
  std::stable_sort(merges.begin(), merges.end(),
                   [](const Merge& x, const Merge& y) { return x.height < y.height; });
  return merges;
}

/// The groups after the first `count` merges.
Grouping grouping_after(const std::vector<Merge>& merges, size_t count, size_t n) {
  std::vector<size_t> heads(n);
  std::iota(heads.begin(), heads.end(), 0);
  const auto head = [&](size_t thing) {
    while (heads[thing] != thing) thing = heads[thing] = heads[heads[thing]];
    return thing;
  };
  for (size_t i = 0; i < count; ++i) heads[head(merges[i].a)] = head(merges[i].b);
  Grouping grouping(n);
  std::vector<int> numbers(n, -1);
  int next = 0;
  for (size_t thing = 0; thing < n; ++thing) {
    int& number = numbers[head(thing)];
    if (number < 0) number = next++;
    grouping[thing] = number;
  }
  return grouping;
}

}  // namespace

int groups_in(const Grouping& grouping) {
  return grouping.empty() ? 0 : *std::max_element(grouping.begin(), grouping.end()) + 1;
}

Neighbourhood neighbourhood(const Distances& distances, const Grouping& grouping, size_t thing) {
  const auto groups = static_cast<size_t>(groups_in(grouping));
  std::vector<double> sums(groups), counts(groups);
  for (size_t other = 0; other < distances.size; ++other) {
    if (other == thing) continue;
    const auto group = static_cast<size_t>(grouping[other]);
    sums[group] += distances.at(thing, other);
    ++counts[group];
  }
  Neighbourhood found;
  for (size_t group = 0; group < groups; ++group) {
    if (counts[group] == 0) continue;
    const double mean = sums[group] / counts[group];
    if (static_cast<int>(group) == grouping[thing]) {
      found.own = mean;
    } else if (found.nearest < 0 || mean < found.other) {
      found.other = mean;
      found.nearest = static_cast<int>(group);
    }
  }
  return found;
}

double silhouette(const Distances& distances, const Grouping& grouping, double noise) {
  std::vector<int> sizes(static_cast<size_t>(groups_in(grouping)));
  for (const int group : grouping) ++sizes[static_cast<size_t>(group)];
  if (sizes.size() < 2) return 0;
  double sum = 0;
  for (size_t thing = 0; thing < distances.size; ++thing) {
    if (sizes[static_cast<size_t>(grouping[thing])] < 2) continue;
    const Neighbourhood around = neighbourhood(distances, grouping, thing);
    sum += (around.other - around.own) / (std::max(around.own, around.other) + noise);
  }
  return sum / static_cast<double>(distances.size);
}

Grouping best_grouping(const Distances& distances, double noise) {
  const size_t n = distances.size;
  Grouping best(n);
  if (n < 3) return best;
  const std::vector<Merge> merges = merge_all(distances);
  std::vector<size_t> cuts(merges.size() - 1);  // cut i is after merge i
  std::iota(cuts.begin(), cuts.end(), 0);
  std::stable_sort(cuts.begin(), cuts.end(), [&](size_t x, size_t y) {
    return merges[x + 1].height - merges[x].height > merges[y + 1].height - merges[y].height;
  });
  cuts.resize(std::min(cuts.size(), kCuts));
  double highest = 0;
  for (const size_t cut : cuts) {
    Grouping grouping = grouping_after(merges, cut + 1, n);
    const double fit = silhouette(distances, grouping, noise);
    if (fit <= highest) continue;
    highest = fit;
    best = std::move(grouping);
  }
  return best;
}

}  // namespace weir::topology
