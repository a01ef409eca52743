// SPDX-License-Identifier: Apache-2.0
/// A sum in rank order at one rank: ((x0 + x1) + x2) + ..., with its own part at its position.
/// Tests: tests/algorithms/catalogue_test.cc
#pragma once

#include "algorithms/ir/builder.h"

namespace weir::algorithms {

/// Emits the sum move by move; all moves arrive in the builder's current destination lane, one after the
/// other, and only the last one stores its value.
class RankOrderSum {
 public:
  /// The sum at rank `at`, whose own part is `own`. REQUIRES: ranks >= 2.
  RankOrderSum(Rank at, int ranks, ir::Operand own, ir::Operand to, uint32_t chunks)
      : at_(at), ranks_(ranks), own_(own), to_(to), chunks_(chunks) {}

  /// Adds the data that `src` sends from `from` (or, with pull, that is read there); for src == at the own
  /// part. REQUIRES: called once per rank, in rank order.
  void add(ir::Builder& plan, Rank src, ir::Operand from, bool pull = false) {
    if (src == at_ && src == 0) {
      sum_ = own_;
      return;
    }
    const ir::Arrival arrival{sum_, src == ranks_ - 1 ? to_ : ir::Operand{}, chunks_};
    sum_ = ir::value(src == at_ ? plan.local(at_, own_, arrival)
                     : pull     ? plan.pull(src, at_, from, arrival)
                                : plan.send(src, at_, from, arrival));
  }
  /// The partial sum.
  ir::Operand sum() const { return sum_; }

 private:
  Rank at_;
  int ranks_;
  ir::Operand own_;
  ir::Operand to_;
  uint32_t chunks_;
  ir::Operand sum_;
};

}  // namespace weir::algorithms
