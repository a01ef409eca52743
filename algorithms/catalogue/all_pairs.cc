// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/all_pairs.h"

#include <vector>

#include "algorithms/catalogue/rank_order_sum.h"
#include "algorithms/catalogue/wrap.h"
#include "algorithms/ir/builder.h"

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::Operand;
using ir::Shape;

constexpr uint8_t kSumLane = 0;
constexpr uint8_t kInputLane = 1;
constexpr uint8_t kResultLane = 2;

uint32_t part_chunks(const Shape& shape) { return shape.chunks / static_cast<uint32_t>(shape.ranks); }
uint32_t part_at(const Shape& shape, Rank owner) { return static_cast<uint32_t>(owner) * part_chunks(shape); }

/// Every rank adds up its part in rank order; stored at `to(rank)`. Returns the sums; index: rank.
template <typename To>
std::vector<Operand> sum_parts(Builder& plan, To&& to) {
  const Shape& shape = plan.shape();
  const int n = shape.ranks;
  plan.lanes(kInputLane, kSumLane);
  std::vector<RankOrderSum> sums;
  for (Rank at = 0; at < n; ++at)
    sums.emplace_back(at, n, ir::input(part_at(shape, at)), to(at), part_chunks(shape));
  for (Rank src = 0; src < n; ++src) {
    for (int i = 1; i <= n; ++i) {
      const Rank dst = wrap(src + i, n);
      sums[static_cast<size_t>(dst)].add(plan, src, ir::input(part_at(shape, dst)));
    }
  }
  std::vector<Operand> results;
  for (const RankOrderSum& sum : sums) results.push_back(sum.sum());
  return results;
}

}  // namespace

ir::Plan all_pairs_all_reduce(const Shape& shape) {
  const int n = shape.ranks;
  Builder plan("all_pairs", shape);
  const auto sums = sum_parts(plan, [&](Rank rank) { return ir::output(part_at(shape, rank)); });
  plan.lanes(kSumLane, kResultLane);
  for (Rank src = 0; src < n; ++src) {
    for (int i = 1; i < n; ++i) {
      plan.send(src, wrap(src + i, n), sums[static_cast<size_t>(src)],
                {.to = ir::output(part_at(shape, src)), .chunks = part_chunks(shape)});
    }
  }
  return plan.take();
}

ir::Plan all_pairs_reduce(const Shape& shape) {
  Builder plan("all_pairs", shape);
  const auto sums = sum_parts(
      plan, [&](Rank rank) { return rank == shape.root ? ir::output(part_at(shape, rank)) : Operand{}; });
  plan.lanes(kSumLane, kResultLane);
  for (int i = 1; i < shape.ranks; ++i) {
    const Rank src = wrap(shape.root + i, shape.ranks);
    plan.send(src, shape.root, sums[static_cast<size_t>(src)],
              {.to = ir::output(part_at(shape, src)), .chunks = part_chunks(shape)});
  }
  return plan.take();
}

}  // namespace weir::algorithms
