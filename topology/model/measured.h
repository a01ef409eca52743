// SPDX-License-Identifier: Apache-2.0
/// Determines which hosts share a leaf switch from measurements between them: the last resort if no switch
/// reports it.
///
/// All hosts communicate at once, in changing pairs (tournament.h). Pairs inside a leaf then get the
/// bandwidth of their NICs; pairs across leaves share the uplinks and get less if these are oversubscribed.
/// Latencies also distinguish leaves if an additional switch takes a measurable time. If neither separates
/// hosts, nothing can: there is one leaf, or a network without bottlenecks.
///
/// Pure and deterministic; n hosts cost O(n^2) per repetition.
/// Tests: tests/topology/measured_test.cc
#pragma once

#include <string>
#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

/// Figures of all pairs of n hosts, measured once: n x n, row by row, symmetric; the diagonal is ignored.
struct MeasuredRepetition {
  std::vector<double> latency_us;  ///< one way
  std::vector<double> gb_per_s;    ///< in each direction, while all pairs of a round are active
};

struct Measured {
  std::vector<std::string> hosts;
  std::vector<double> alone_gb_per_s;           ///< index: host; measured while all others were silent
  std::vector<MeasuredRepetition> repetitions;  ///< the pairs of repetition i are those of Tournament(n, i)

  size_t pair(size_t a, size_t b) const { return a * hosts.size() + b; }
};

struct MeasuredLeaf {
  std::vector<size_t> hosts;  ///< indices in Measured::hosts
  double down_gb_per_s = 0;   ///< sum over its hosts, each measured alone
  double up_gb_per_s =
      0;  ///< lower bound: the maximum that its hosts sent to other leaves at once; 0 if there is one leaf

  bool operator==(const MeasuredLeaf&) const = default;
};

struct MeasuredLeaves {
  enum class From : uint8_t { nothing, latency, bandwidth, both };

  From from = From::nothing;
  /// Leaves are found from all repetitions but one and evaluated on that one, for each in turn: the mean
  /// silhouette (linkage.h, of logarithms) there, minus its standard error. 0: no better than the same
  /// figures after a random permutation of the pairs; 1: far apart and tight. Below least_confidence() no
  /// leaves are reported.
  double confidence = 0;
  std::vector<MeasuredLeaf> leaves;  ///< sorted by their first hosts; at least one
  std::vector<double> gb_per_s;      ///< index: host; the rate that it reached alone
  std::vector<size_t> slow;          ///< indices of hosts that reached far less than most
  std::vector<size_t> unplaced;      ///< indices of hosts that are no nearer to their leaf than to others
  /// Medians over pairs; across: 0 if there is one leaf.
  double inside_gb_per_s = 0;
  double across_gb_per_s = 0;
  double inside_us = 0;
  double across_us = 0;
};

/// With few hosts, groups appear by chance more easily.
constexpr double least_confidence(size_t hosts) { return 0.25 + 1.0 / static_cast<double>(hosts); }

/// Recommended number of measurements of all pairs: 3, and up to 10 for few hosts.
int usual_repetitions(size_t hosts);

/// REQUIRES: sizes match, figures are above 0. Finding leaves needs at least 4 hosts and 3 repetitions.
MeasuredLeaves find_leaves(const Measured& measured);

/// The hosts, a switch per leaf, and if there are several leaves one spine that represents all switches
/// above. Speeds are rounded to two digits; hosts about as fast as most get the same speed.
Graph graph_of(const Measured& measured, const MeasuredLeaves& found);

}  // namespace weir::topology
