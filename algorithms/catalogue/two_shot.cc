// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/two_shot.h"

#include "algorithms/catalogue/rank_order_sum.h"
#include "algorithms/catalogue/wrap.h"
#include "algorithms/ir/builder.h"

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::Operand;
using ir::Shape;

/// Every rank copies the shares of the others into its scratch, share s at chunk s * share.
void show_inputs(Builder& plan, uint32_t share) {
  const auto n = static_cast<uint32_t>(plan.shape().ranks);
  for (uint32_t r = 0; r < n; ++r) {
    const auto copy = [&](uint32_t first, uint32_t end) {
      if (first == end) return;
      plan.local(static_cast<Rank>(r), ir::input(first * share),
                 {.to = ir::scratch(first * share), .chunks = (end - first) * share});
    };
    copy(0, r);
    copy(r + 1, n);
  }
}

/// Every rank adds up its share of the others' published data; the result goes to `to(rank)`. Returns the
/// sums; index: rank.
template <typename To>
std::vector<Operand> sum_shares(Builder& plan, uint32_t share, To&& to) {
  const int n = plan.shape().ranks;
  std::vector<Operand> results;
  for (Rank at = 0; at < n; ++at) {
    const uint32_t chunk = static_cast<uint32_t>(at) * share;
    RankOrderSum sum(at, n, ir::input(chunk), to(at), share);
    for (Rank src = 0; src < n; ++src) sum.add(plan, src, ir::scratch(chunk), true);
    results.push_back(sum.sum());
  }
  return results;
}

}  // namespace

ir::Plan two_shot_all_reduce(const Shape& shape) {
  const int n = shape.ranks;
  const uint32_t share = shape.chunks / static_cast<uint32_t>(n);
  const auto chunk = [&](Rank rank) { return static_cast<uint32_t>(rank) * share; };
  Builder plan("two_shot", shape);
  plan.scratch_chunks(shape.chunks);
  show_inputs(plan, share);
  const auto sums = sum_shares(plan, share, [&](Rank rank) { return ir::scratch(chunk(rank)); });
  for (Rank rank = 0; rank < n; ++rank) {
    plan.local(rank, sums[static_cast<size_t>(rank)], {.to = ir::output(chunk(rank)), .chunks = share});
  }
  for (int i = 1; i < n; ++i) {
    for (Rank dst = 0; dst < n; ++dst) {
      const Rank src = wrap(dst + i, n);
      plan.pull(src, dst, ir::scratch(chunk(src)), {.to = ir::output(chunk(src)), .chunks = share});
    }
  }
  return plan.take();
}

ir::Plan two_shot_reduce_scatter(const Shape& shape) {
  Builder plan("two_shot", shape);
  plan.scratch_chunks(shape.chunks * static_cast<uint32_t>(shape.ranks));
  show_inputs(plan, shape.chunks);
  sum_shares(plan, shape.chunks, [](Rank) { return ir::output(0); });
  return plan.take();
}

ir::Plan two_shot_all_gather(const Shape& shape) {
  const int n = shape.ranks;
  const auto block = [&](Rank rank) { return ir::output(static_cast<uint32_t>(rank) * shape.chunks); };
  Builder plan("two_shot", shape);
  plan.scratch_chunks(shape.chunks);
  for (Rank rank = 0; rank < n; ++rank) {
    plan.local(rank, ir::input(0), {.to = ir::scratch(0), .chunks = shape.chunks});
    plan.local(rank, ir::input(0), {.to = block(rank), .chunks = shape.chunks});
  }
  for (int i = 1; i < n; ++i) {
    for (Rank dst = 0; dst < n; ++dst) {
      const Rank src = wrap(dst + i, n);
      plan.pull(src, dst, ir::scratch(0), {.to = block(src), .chunks = shape.chunks});
    }
  }
  return plan.take();
}

}  // namespace weir::algorithms
