// SPDX-License-Identifier: Apache-2.0

#include "topology/model/measured.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "topology/model/linkage.h"
#include "topology/model/tournament.h"

namespace weir::topology {
namespace {

/// Differences of about 10 % need no switch as an explanation.
constexpr double kNoise = 0.1;
/// Hosts whose speeds differ by less are considered equal.
const double kAlike = std::log(1.25);
constexpr size_t kFewestHosts = 4;
constexpr size_t kFewestRepetitions = 3;

using Repetitions = std::vector<size_t>;
enum class Kind : uint8_t { latency, bandwidth };

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Logarithms of the cost of an exchange: of the minimum latency, since disturbances only add to it, and of
/// the mean time per byte, since concurrent traffic changes between repetitions.
Distances costs_of(const Measured& measured, Kind kind, const Repetitions& repetitions) {
  Distances costs(measured.hosts.size());
  const double share = 1 / static_cast<double>(repetitions.size());
  for (size_t pair = 0; pair < costs.values.size(); ++pair) {
    double least_us = INFINITY;
    double cost = 0;
    for (const size_t i : repetitions) {
      const MeasuredRepetition& one = measured.repetitions[i];
      if (kind == Kind::latency)
        least_us = std::min(least_us, one.latency_us[pair]);
      else
        cost -= share * std::log(one.gb_per_s[pair]);
    }
    costs.values[pair] = kind == Kind::latency ? std::log(least_us) : cost;
  }
  for (size_t host = 0; host < costs.size; ++host) costs.at(host, host) = 0;
  return costs;
}

/// For each host the minimum of its row.
std::vector<double> nearest_of(const Distances& distances) {
  std::vector<double> nearest(distances.size, INFINITY);
  for (size_t a = 0; a < distances.size; ++a) {
    for (size_t b = 0; b < distances.size; ++b)
      if (a != b) nearest[a] = std::min(nearest[a], distances.at(a, b));
  }
  return nearest;
}

/// While the others were silent, a host may have been paired only with slow ones. It then did better later;
/// slightly better is chance, since that is the maximum of many values.
std::vector<double> speeds_of(const Measured& measured, const Distances& costs) {
  std::vector<double> speeds = nearest_of(costs);
  for (size_t host = 0; host < speeds.size(); ++host)
    speeds[host] = std::max(measured.alone_gb_per_s[host], 0.8 * std::exp(-speeds[host]));
  return speeds;
}

/// The cost of each pair beyond what its own ends explain: 0 for the best pairs of most hosts.
Distances distances_of(const Measured& measured, Kind kind, const Repetitions& repetitions) {
  Distances distances = costs_of(measured, kind, repetitions);
  std::vector<double> own = nearest_of(distances);
  if (kind == Kind::bandwidth) {
    own = speeds_of(measured, distances);
    for (double& cost : own) cost = -std::log(cost);
  }
  const double usual = median(own);
  for (double& cost : own) cost = std::abs(cost - usual) > kAlike ? cost : usual;
  for (size_t a = 0; a < own.size(); ++a) {
    for (size_t b = 0; b < own.size(); ++b)
      if (a != b) distances.at(a, b) -= std::max(own[a], own[b]);
  }
  // All pairs may be slower together than alone if hosts rather than links are busy.
  const double best = median(nearest_of(distances));
  for (size_t a = 0; a < own.size(); ++a) {
    for (size_t b = 0; b < own.size(); ++b)
      distances.at(a, b) = a == b ? 0 : std::max(0.0, distances.at(a, b) - best);
  }
  return distances;
}

/// The apparent quality of groups if there are none: the mean quality of the best grouping after a random
/// permutation of the distances.
double fit_by_chance(const Distances& distances) {
  const size_t n = distances.size;
  const int deals = n < 100 ? 20 : 3;
  std::mt19937_64 random;  // NOLINT: a fixed seed, so that equal figures give equal results
  Distances dealt = distances;
  double sum = 0;
  for (int deal = 0; deal < deals; ++deal) {
    for (size_t a = 1; a < n; ++a) {
      for (size_t b = 0; b < a; ++b) {
        const size_t pair = random() % (a * (a - 1) / 2 + b + 1);  // one of the pairs up to this one
        const auto row = static_cast<size_t>((1 + std::sqrt(1 + 8 * static_cast<double>(pair))) / 2);
        const size_t column = pair - row * (row - 1) / 2;
        std::swap(dealt.at(a, b), dealt.at(row, column));
      }
    }
    for (size_t a = 0; a < n; ++a)
      for (size_t b = 0; b < a; ++b) dealt.at(b, a) = dealt.at(a, b);
    sum += silhouette(dealt, best_grouping(dealt, kNoise), kNoise);
  }
  return sum / deals;
}

/// Computes MeasuredLeaves::confidence.
double confidence_of(const Measured& measured, Kind kind, const Distances& distances) {
  const size_t count = measured.repetitions.size();
  double sum = 0;
  double squares = 0;
  for (size_t tried = 0; tried < count; ++tried) {
    Repetitions others;
    for (size_t i = 0; i < count; ++i)
      if (i != tried) others.push_back(i);
    const Grouping grouping = best_grouping(distances_of(measured, kind, others), kNoise);
    const double fit = silhouette(distances_of(measured, kind, {tried}), grouping, kNoise);
    sum += fit;
    squares += fit * fit;
  }
  const double n = static_cast<double>(count);
  const double mean = sum / n;
  const double variance = std::max(0.0, squares / n - mean * mean) * n / (n - 1);
  const double chance = fit_by_chance(distances);
  return std::max(0.0, (mean - std::sqrt(variance / n) - chance) / (1 - chance));
}

Grouping numbered_in_order(const Grouping& grouping) {
  std::vector<int> numbers(static_cast<size_t>(groups_in(grouping)), -1);
  int next = 0;
  Grouping result;
  for (const int group : grouping) {
    int& number = numbers[static_cast<size_t>(group)];
    if (number < 0) number = next++;
    result.push_back(number);
  }
  return result;
}

struct Settled {
  Grouping grouping;
  std::vector<size_t> unplaced;
};

/// Finds hosts whose leaf cannot be determined. A host alone in its group is a leaf only if it is as far from
/// the others as leaves are from each other; otherwise something is wrong with the host.
Settled settle(const Distances& distances, Grouping grouping) {
  std::vector<Neighbourhood> around;
  std::vector<double> others, margins;
  for (size_t host = 0; host < grouping.size(); ++host) {
    around.push_back(neighbourhood(distances, grouping, host));
    if (std::count(grouping.begin(), grouping.end(), grouping[host]) < 2) continue;
    others.push_back(around.back().other);
    margins.push_back(around.back().other - around.back().own);
  }
  const double usual = median(others);
  const double margin = median(margins);
  Settled settled{grouping, {}};
  for (size_t host = 0; host < grouping.size(); ++host) {
    const Neighbourhood& here = around[host];
    if (std::count(grouping.begin(), grouping.end(), grouping[host]) > 1) {
      if (here.other - here.own < margin / 2) settled.unplaced.push_back(host);
    } else if (here.other < usual / 2 || here.other > usual * 3 / 2) {
      settled.grouping[host] = here.nearest;
      settled.unplaced.push_back(host);
    }
  }
  settled.grouping = numbered_in_order(settled.grouping);
  return settled;
}

/// The maximum rate at which each leaf's hosts sent to other leaves at once, as the median of the
/// repetitions.
std::vector<double> uplinks_of(const Measured& measured, const Grouping& grouping) {
  const auto leaves = static_cast<size_t>(groups_in(grouping));
  std::vector<std::vector<double>> most(leaves, std::vector<double>(measured.repetitions.size()));
  for (size_t i = 0; i < measured.repetitions.size(); ++i) {
    const Tournament tournament(static_cast<int>(grouping.size()), static_cast<int>(i));
    for (int round = 0; round < tournament.rounds(); ++round) {
      std::vector<double> sums(leaves);
      for (size_t host = 0; host < grouping.size(); ++host) {
        const int partner = tournament.partner(round, static_cast<int>(host));
        if (partner < 0 || grouping[static_cast<size_t>(partner)] == grouping[host]) continue;
        sums[static_cast<size_t>(grouping[host])] +=
            measured.repetitions[i].gb_per_s[measured.pair(host, static_cast<size_t>(partner))];
      }
      for (size_t leaf = 0; leaf < leaves; ++leaf) most[leaf][i] = std::max(most[leaf][i], sums[leaf]);
    }
  }
  std::vector<double> uplinks;
  for (const std::vector<double>& one : most) uplinks.push_back(median(one));
  return uplinks;
}

void add_medians(const Measured& measured, const Grouping& grouping, MeasuredLeaves& found) {
  std::vector<double> speeds[2], latencies[2];
  for (size_t a = 0; a < grouping.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      const size_t across = grouping[a] == grouping[b] ? 0 : 1;
      for (const MeasuredRepetition& one : measured.repetitions) {
        speeds[across].push_back(one.gb_per_s[measured.pair(a, b)]);
        latencies[across].push_back(one.latency_us[measured.pair(a, b)]);
      }
    }
  }
  found.inside_gb_per_s = median(std::move(speeds[0]));
  found.across_gb_per_s = median(std::move(speeds[1]));
  found.inside_us = median(std::move(latencies[0]));
  found.across_us = median(std::move(latencies[1]));
}

/// Computes the results that depend on the leaves.
void describe(const Measured& measured, const Grouping& grouping, MeasuredLeaves& found) {
  Repetitions all(measured.repetitions.size());
  std::iota(all.begin(), all.end(), 0);
  found.gb_per_s = measured.alone_gb_per_s;
  if (!all.empty() && grouping.size() > 1)
    found.gb_per_s = speeds_of(measured, costs_of(measured, Kind::bandwidth, all));
  found.leaves.resize(static_cast<size_t>(std::max(1, groups_in(grouping))));
  const double usual = median(found.gb_per_s);
  for (size_t host = 0; host < grouping.size(); ++host) {
    MeasuredLeaf& leaf = found.leaves[static_cast<size_t>(grouping[host])];
    leaf.hosts.push_back(host);
    leaf.down_gb_per_s += found.gb_per_s[host];
    if (found.gb_per_s[host] * 1.25 < usual) found.slow.push_back(host);
  }
  if (found.leaves.size() > 1) {
    const std::vector<double> uplinks = uplinks_of(measured, grouping);
    for (size_t leaf = 0; leaf < uplinks.size(); ++leaf) found.leaves[leaf].up_gb_per_s = uplinks[leaf];
  }
  add_medians(measured, grouping, found);
}

}  // namespace

int usual_repetitions(size_t hosts) {
  return static_cast<int>(std::clamp<size_t>(120 / std::max<size_t>(hosts, 1), 3, 10));
}

MeasuredLeaves find_leaves(const Measured& measured) {
  using From = MeasuredLeaves::From;
  const size_t hosts = measured.hosts.size();
  Repetitions all(measured.repetitions.size());
  std::iota(all.begin(), all.end(), 0);
  MeasuredLeaves found;
  Settled best{Grouping(hosts), {}};
  const bool enough = hosts >= kFewestHosts && all.size() >= kFewestRepetitions;
  for (const Kind kind : {Kind::bandwidth, Kind::latency}) {
    if (!enough) break;
    const Distances distances = distances_of(measured, kind, all);
    const double confidence = confidence_of(measured, kind, distances);
    Settled settled = settle(distances, best_grouping(distances, kNoise));
    const bool separates = confidence >= least_confidence(hosts) && groups_in(settled.grouping) > 1;
    if (separates && found.from != From::nothing && settled.grouping == best.grouping) {
      found.from = From::both;
    } else if (separates && (found.from == From::nothing || confidence > found.confidence)) {
      found.from = kind == Kind::bandwidth ? From::bandwidth : From::latency;
      best = std::move(settled);
    }
    if (separates || found.from == From::nothing) found.confidence = std::max(found.confidence, confidence);
  }
  found.unplaced = std::move(best.unplaced);
  describe(measured, best.grouping, found);
  return found;
}

}  // namespace weir::topology
