// SPDX-License-Identifier: Apache-2.0
/// The messages of PAT, "parallel aggregated trees" (S. Jeaugey, arXiv 2506.20252), between any number of
/// hosts.
///
/// A block travels along a binomial tree of offsets from its own host, far ones first: offset v gets it from
/// v without its lowest bit. The trees of all blocks are the same, only shifted, so in every step each host
/// sends to the host `distance` after it what it holds for a set of offsets, in one message. Far messages
/// carry little, near ones much. First the distances halve, and messages grow; when they would carry more
/// than `aggregate` blocks, the steps go down into one branch after the other instead, with as many blocks in
/// each. That makes ceil(log2(hosts)) steps for up to 2 * aggregate hosts; for more,
/// ceil(log2(heads)) + stride - 1, where the stride is the smallest power of two that leaves at most
/// `aggregate` heads = ceil(hosts / stride). A block takes at most ceil(log2(hosts)) steps for any number,
/// but those into branches also wait for the branch before, whose rows they take.
///
/// A host holds what is still to be passed on in rows of `heads` blocks: one row, and one for each doubling
/// of the stride. In a row blocks lie in an order in which every message is a run of it. So what has to be
/// held grows with the logarithm of the hosts, not with the operation.
///
/// Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace weir::algorithms {

/// Blocks of consecutive places of a row.
struct PatRun {
  int branch = 0;  ///< below the stride: the offsets are those of heads, plus this
  int first = 0;   ///< place in the row
  int count = 0;
};

/// One message of every host, to the host so many after it. What is `sent` by the one becomes `arriving` at
/// the other: place i of it is the same block.
struct PatStep {
  int distance = 0;
  PatRun sent;
  PatRun arriving;
};

/// Blocks that the ranks of a host hand to each other in one message.
struct PatShare {
  PatRun run;
  size_t ready = 0;  ///< steps after which all of them are there
};

struct PatSchedule {
  int hosts = 1;
  int stride = 1;
  std::vector<int> heads;      ///< multiples of the stride, by place in a row; the largest is the last
  std::vector<PatStep> steps;  ///< what a step sends has arrived before, or is the own block
  /// All blocks once, by `ready`, no more in each than there are heads, or without branches half of them:
  /// what comes last is apart, so that nothing else has to wait for it.
  std::vector<PatShare> shares;

  int row_size() const { return static_cast<int>(heads.size()); }
  int rows() const;
  /// Rows are used again by branches that are never held at once.
  int row(int branch) const;
  /// The first place of the own block, in the row of branch 0.
  int own_place() const;
};

/// REQUIRES: hosts >= 1, aggregate >= 1.
PatSchedule pat_schedule(int hosts, int aggregate);

}  // namespace weir::algorithms
