// SPDX-License-Identifier: Apache-2.0
/// Which hosts share a leaf switch, from what was measured between them: the last resort where no switch says
/// so.
///
/// All hosts talk at once, in pairs that change (tournament.h). Pairs inside a leaf then get what their NICs
/// give; those across share the leaves' uplinks and get less where these are oversubscribed. Latencies tell
/// leaves apart as well, where a switch more takes long enough to be seen. Where neither separates hosts,
/// nothing can: one leaf, or a network without bottlenecks.
///
/// Pure and deterministic; n hosts cost O(n^2) per repetition.
#pragma once

#include <string>
#include <vector>

#include "topology/model/graph.h"

namespace weir::topology {

/// Figures of all pairs of n hosts, taken once: n x n, row by row, symmetric; the diagonal does not count.
struct MeasuredRepetition {
  std::vector<double> latency_us;  ///< one way
  std::vector<double> gb_per_s;    ///< of each direction, all pairs of a round at work at once
};

struct Measured {
  std::vector<std::string> hosts;
  std::vector<double> alone_gb_per_s;           ///< by host: while all others were silent
  std::vector<MeasuredRepetition> repetitions;  ///< the pairs of repetition i are those of Tournament(n, i)

  size_t pair(size_t a, size_t b) const { return a * hosts.size() + b; }
};

struct MeasuredLeaf {
  std::vector<size_t> hosts;  ///< places in Measured::hosts
  double down_gb_per_s = 0;   ///< of its hosts, each alone
  double up_gb_per_s =
      0;  ///< at least: the most that its hosts sent to others at once; 0 where it is the only one

  bool operator==(const MeasuredLeaf&) const = default;
};

struct MeasuredLeaves {
  enum class From : uint8_t { nothing, latency, bandwidth, both };

  From from = From::nothing;
  /// Leaves are found from all repetitions but one and tried on that one, for each in turn: the mean
  /// silhouette (linkage.h, of logarithms) there, less its standard error. 0: no more than what the same
  /// figures give when they are dealt out to the pairs at random; 1: far apart and tight. Below
  /// least_confidence() no leaves are told.
  double confidence = 0;
  std::vector<MeasuredLeaf> leaves;  ///< in the order of their first hosts; at least one
  std::vector<double> gb_per_s;      ///< by host: what it reached alone
  std::vector<size_t> slow;          ///< hosts that reached far less than most
  std::vector<size_t> unplaced;      ///< hosts that are no nearer to their leaf than to others
  /// Medians of pairs; across: 0 where there is one leaf.
  double inside_gb_per_s = 0;
  double across_gb_per_s = 0;
  double inside_us = 0;
  double across_us = 0;
};

/// Few hosts look grouped by chance more easily.
constexpr double least_confidence(size_t hosts) { return 0.25 + 1.0 / static_cast<double>(hosts); }

/// How often all pairs should be measured: 3 times, and up to 10 where there are few.
int usual_repetitions(size_t hosts);

/// REQUIRES: sizes fit, figures are above 0. At least 4 hosts and 3 repetitions are needed to
/// find leaves.
MeasuredLeaves find_leaves(const Measured& measured);

/// The hosts, a switch per leaf, and if there are several one spine that stands for all above them. Speeds
/// are rounded to two digits; hosts about as fast as most get one speed.
Graph graph_of(const Measured& measured, const MeasuredLeaves& found);

}  // namespace weir::topology
