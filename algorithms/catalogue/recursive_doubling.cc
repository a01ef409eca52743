// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/recursive_doubling.h"

#include <algorithm>
#include <vector>

#include "algorithms/catalogue/cores.h"
#include "algorithms/ir/builder.h"

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::Operand;

class Doubling {
 public:
  explicit Doubling(const ir::Shape& shape)
      : cores_(shape.ranks),
        chunks_(shape.chunks),
        plan_("recursive_doubling", shape),
        sums_(static_cast<size_t>(cores_.count), ir::input(0)) {
    plan_.lanes(0, 1);
  }

  ir::Plan emit() {
    for (int core = 0; core < cores_.spare; ++core) {
      const Rank rank = cores_.rank(core);
      plan_.send(rank + 1, rank, ir::input(0), {ir::input(0), area(1), chunks_});
      sum(core) = area(1);
    }
    for (int distance = 1, round = 0; distance < cores_.count; distance *= 2, ++round) {
      const bool last = 2 * distance == cores_.count;
      cores_.pairs(distance,
                   [&](int low, int high) { exchange(low, high, last ? ir::output(0) : area(round % 2)); });
    }
    for (int core = 0; core < cores_.spare; ++core) {
      const Rank rank = cores_.rank(core);
      plan_.send(rank, rank + 1, ir::output(0), {.to = ir::output(0), .chunks = chunks_});
    }
    plan_.scratch_chunks(areas_ * chunks_);
    return plan_.take();
  }

 private:
  Operand& sum(int core) { return sums_[static_cast<size_t>(core)]; }

  /// Partial sums alternate between two areas of scratch, so that data that a peer still reads is not
  /// overwritten.
  Operand area(uint32_t which) {
    areas_ = std::max(areas_, which + 1);
    return ir::scratch(which * chunks_);
  }

  /// Both add the higher one's sum to the lower one's. The output may be the input: all is read first.
  void exchange(int low, int high, Operand to) {
    const Rank low_rank = cores_.rank(low), high_rank = cores_.rank(high);
    const Operand lower = ir::value(plan_.send(low_rank, high_rank, sum(low), {.chunks = chunks_}));
    plan_.send(high_rank, low_rank, sum(high), {sum(low), to, chunks_});
    plan_.local(high_rank, sum(high), {lower, to, chunks_});
    sum(low) = sum(high) = to;
  }

  const Cores cores_;
  const uint32_t chunks_;
  Builder plan_;
  std::vector<Operand> sums_;  // index: core; position of its partial sum
  uint32_t areas_ = 0;
};

}  // namespace

ir::Plan recursive_doubling_all_reduce(const ir::Shape& shape) { return Doubling(shape).emit(); }

}  // namespace weir::algorithms
