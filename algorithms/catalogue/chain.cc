// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/chain.h"

#include "algorithms/ir/builder.h"

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::Operand;
using ir::Shape;

constexpr uint8_t kPartialLane = 0;
constexpr uint8_t kFinishedLane = 1;

/// The sum of all ranks' chunks from `chunk` on at the last rank, where it is stored at `to`.
Operand sum_along(Builder& plan, uint32_t chunk, Operand to) {
  const Shape& shape = plan.shape();
  plan.lane(kPartialLane);
  Operand sum = ir::input(chunk);
  for (Rank rank = 1; rank < shape.ranks; ++rank) {
    // The partial sum is the left operand, as in every other sum in rank order.
    const Operand partial = ir::value(plan.send(rank - 1, rank, sum, {.chunks = shape.chunks}));
    const Operand kept = rank == shape.ranks - 1 ? to : Operand{};
    sum = ir::value(plan.local(rank, ir::input(chunk), {partial, kept, shape.chunks}));
  }
  return sum;
}

}  // namespace

ir::Plan chain_all_reduce(const Shape& shape) {
  Builder plan("chain", shape);
  Operand result = sum_along(plan, 0, ir::output(0));
  for (Rank rank = shape.ranks - 1; rank > 0; --rank) {
    plan.lanes(rank == shape.ranks - 1 ? kPartialLane : kFinishedLane, kFinishedLane);
    result = ir::value(plan.send(rank, rank - 1, result, {.to = ir::output(0), .chunks = shape.chunks}));
  }
  return plan.take();
}

ir::Plan chain_reduce(const Shape& shape) {
  Builder plan("chain", shape);
  const Rank last = shape.ranks - 1;
  const Operand sum = sum_along(plan, 0, shape.root == last ? ir::output(0) : Operand{});
  plan.lanes(kPartialLane, kFinishedLane);
  if (shape.root != last) plan.send(last, shape.root, sum, {.to = ir::output(0), .chunks = shape.chunks});
  return plan.take();
}

ir::Plan chain_reduce_scatter(const Shape& shape) {
  Builder plan("chain", shape);
  const Rank last = shape.ranks - 1;
  for (Rank owner = 0; owner < shape.ranks; ++owner) {
    const uint32_t chunk = static_cast<uint32_t>(owner) * shape.chunks;
    const Operand sum = sum_along(plan, chunk, owner == last ? ir::output(0) : Operand{});
    plan.lanes(kPartialLane, kFinishedLane);
    if (owner != last) plan.send(last, owner, sum, {.to = ir::output(0), .chunks = shape.chunks});
  }
  return plan.take();
}

}  // namespace weir::algorithms
