// SPDX-License-Identifier: Apache-2.0
/// The messages of PAT, "parallel aggregated trees" (S. Jeaugey, arXiv 2506.20252), between any number of
/// hosts.
///
/// A block moves along a binomial tree of offsets from its own host, distant offsets first: offset v receives
/// it from v without its lowest set bit. The trees of all blocks are equal up to a shift, so that in every
/// step each host sends its blocks for a set of offsets to the host `distance` after it, in one message.
/// Distant messages carry little, near ones much. First the distances halve, and messages grow; when they
/// would exceed `aggregate` blocks, the steps process one branch after the other instead, with as many blocks
/// in each. That makes ceil(log2(hosts)) steps for up to 2 * aggregate hosts; for more, ceil(log2(heads)) +
/// stride - 1, where the stride is the smallest power of two such that heads = ceil(hosts / stride) is at
/// most `aggregate`. A block takes at most ceil(log2(hosts)) steps for any number of hosts, but steps into
/// branches also wait for the branch before, because they reuse its rows.
///
/// A host keeps blocks that must still be passed on in rows of `heads` blocks: one row, and one for each
/// doubling of the stride. Blocks in a row are ordered such that every message is contiguous. The memory
/// therefore grows with the logarithm of the hosts, not with the operation.
///
/// Pure.
/// Tests: tests/algorithms/pat_test.cc
#pragma once

#include <cstddef>
#include <vector>

namespace weir::algorithms {

/// Blocks at consecutive positions of a row.
struct PatRun {
  int branch = 0;  ///< below the stride: the offsets are those of heads, plus this value
  int first = 0;   ///< first position in the row
  int count = 0;
};

/// One message of every host to the host `distance` after it. The blocks `sent` by the one become `arriving`
/// at the other: position i is the same block.
struct PatStep {
  int distance = 0;
  PatRun sent;
  PatRun arriving;
};

/// Blocks that the ranks of a host pass to each other in one message.
struct PatShare {
  PatRun run;
  size_t ready = 0;  ///< number of steps after which all of them have arrived
};

struct PatSchedule {
  int hosts = 1;
  int stride = 1;
  std::vector<int> heads;      ///< multiples of the stride; index: position in a row; the largest is the last
  std::vector<PatStep> steps;  ///< blocks sent in a step have arrived before, or are the host's own
  /// All blocks once, in the order of `ready`, each share at most as large as the number of heads, or without
  /// branches half of that: blocks that arrive last are separate, so that no other block waits for them.
  std::vector<PatShare> shares;

  int row_size() const { return static_cast<int>(heads.size()); }
  int rows() const;
  /// Rows are reused by branches that are never kept at the same time.
  int row(int branch) const;
  /// First position of the own block, in the row of branch 0.
  int own_place() const;
};

/// REQUIRES: hosts >= 1, aggregate >= 1.
PatSchedule pat_schedule(int hosts, int aggregate);

}  // namespace weir::algorithms
