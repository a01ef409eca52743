// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/pairwise.h"

#include "algorithms/catalogue/wrap.h"
#include "algorithms/ir/builder.h"

namespace weir::algorithms {

ir::Plan pairwise_all_to_all(const ir::Shape& shape) {
  const int n = shape.ranks;
  const auto block = [&](Rank rank) { return static_cast<uint32_t>(rank) * shape.chunks; };
  ir::Builder plan("pairwise", shape);
  plan.lanes(1, 0);
  for (int round = 1; round < n; ++round) {
    for (Rank src = 0; src < n; ++src) {
      const Rank dst = wrap(src + round, n);
      plan.send(src, dst, ir::input(block(dst)), {.to = ir::output(block(src)), .chunks = shape.chunks});
    }
  }
  plan.lane(1);
  for (Rank rank = 0; rank < n; ++rank) {
    plan.local(rank, ir::input(block(rank)), {.to = ir::output(block(rank)), .chunks = shape.chunks});
  }
  return plan.take();
}

}  // namespace weir::algorithms
