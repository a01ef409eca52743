// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/one_shot.h"

#include <vector>

#include "algorithms/catalogue/rank_order_sum.h"
#include "algorithms/catalogue/wrap.h"
#include "algorithms/ir/builder.h"

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::Operand;
using ir::Shape;

constexpr uint8_t kOneShotReceiveLane = 0;
constexpr uint8_t kOneShotSendLane = 1;

Operand input_block(const Shape& shape, Rank rank) {
  return ir::input(static_cast<uint32_t>(rank) * shape.chunks);
}
Operand output_block(const Shape& shape, Rank rank) {
  return ir::output(static_cast<uint32_t>(rank) * shape.chunks);
}

/// Every rank adds up, in rank order, the data of all ranks at part(rank) of their inputs.
template <typename Part>
ir::Plan sum_everywhere(const Shape& shape, Part&& part) {
  const int n = shape.ranks;
  Builder plan("one_shot", shape);
  plan.lanes(kOneShotSendLane, kOneShotReceiveLane);
  std::vector<RankOrderSum> sums;
  for (Rank at = 0; at < n; ++at) sums.emplace_back(at, n, part(at), ir::output(0), shape.chunks);
  for (Rank src = 0; src < n; ++src) {
    for (int i = 1; i <= n; ++i) {
      const Rank dst = wrap(src + i, n);
      sums[static_cast<size_t>(dst)].add(plan, src, part(dst));
    }
  }
  return plan.take();
}

/// Every rank sends from(dst) to to(src) of every rank, and copies its own part.
template <typename From>
ir::Plan deliver_everywhere(const Shape& shape, From&& from) {
  const int n = shape.ranks;
  Builder plan("one_shot", shape);
  for (Rank src = 0; src < n; ++src) {
    plan.lanes(kOneShotSendLane, kOneShotReceiveLane);
    for (int i = 1; i < n; ++i) {
      const Rank dst = wrap(src + i, n);
      plan.send(src, dst, from(dst), {.to = output_block(shape, src), .chunks = shape.chunks});
    }
    plan.lane(kOneShotSendLane);
    plan.local(src, from(src), {.to = output_block(shape, src), .chunks = shape.chunks});
  }
  return plan.take();
}

}  // namespace

ir::Plan one_shot_all_reduce(const Shape& shape) {
  return sum_everywhere(shape, [](Rank) { return ir::input(0); });
}

ir::Plan one_shot_reduce_scatter(const Shape& shape) {
  return sum_everywhere(shape, [&](Rank rank) { return input_block(shape, rank); });
}

ir::Plan one_shot_all_gather(const Shape& shape) {
  return deliver_everywhere(shape, [](Rank) { return ir::input(0); });
}

ir::Plan one_shot_all_to_all(const Shape& shape) {
  return deliver_everywhere(shape, [&](Rank rank) { return input_block(shape, rank); });
}

ir::Plan one_shot_reduce(const Shape& shape) {
  Builder plan("one_shot", shape);
  RankOrderSum sum(shape.root, shape.ranks, ir::input(0), ir::output(0), shape.chunks);
  for (Rank src = 0; src < shape.ranks; ++src) sum.add(plan, src, ir::input(0));
  return plan.take();
}

ir::Plan one_shot_broadcast(const Shape& shape) {
  Builder plan("one_shot", shape);
  for (int i = 1; i < shape.ranks; ++i) {
    const Rank dst = wrap(shape.root + i, shape.ranks);
    plan.send(shape.root, dst, ir::input(0), {.to = ir::output(0), .chunks = shape.chunks});
  }
  plan.local(shape.root, ir::input(0), {.to = ir::output(0), .chunks = shape.chunks});
  return plan.take();
}

ir::Plan one_shot_gather(const Shape& shape) {
  Builder plan("one_shot", shape);
  plan.local(shape.root, ir::input(0), {.to = output_block(shape, shape.root), .chunks = shape.chunks});
  for (int i = 1; i < shape.ranks; ++i) {
    const Rank src = wrap(shape.root + i, shape.ranks);
    plan.send(src, shape.root, ir::input(0), {.to = output_block(shape, src), .chunks = shape.chunks});
  }
  return plan.take();
}

ir::Plan one_shot_scatter(const Shape& shape) {
  Builder plan("one_shot", shape);
  for (int i = 1; i < shape.ranks; ++i) {
    const Rank dst = wrap(shape.root + i, shape.ranks);
    plan.send(shape.root, dst, input_block(shape, dst), {.to = ir::output(0), .chunks = shape.chunks});
  }
  plan.local(shape.root, input_block(shape, shape.root), {.to = ir::output(0), .chunks = shape.chunks});
  return plan.take();
}

}  // namespace weir::algorithms
