// SPDX-License-Identifier: Apache-2.0

#include "algorithms/ir/relabel.h"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace weir::ir {
namespace {

/// Moves operands from the blocks of old ranks to those of new ranks.
class Relabel {
 public:
  Relabel(const Shape& shape, std::span<const Rank> order) : shape_(shape), order_(order) {}

  /// False: the chunks are not contiguous in the new order. `rank` is the old number of the buffer's rank.
  bool apply(Operand& operand, Rank rank, uint32_t chunks) const {
    const bool is_input = operand.kind == Operand::Kind::input;
    if (!is_input && operand.kind != Operand::Kind::output) return true;
    const int blocks = is_input ? input_blocks(shape_, rank) : output_blocks(shape_, rank);
    if (blocks != shape_.ranks || blocks < 2) return true;  // one block, common to all ranks
    const uint32_t first = operand.index / shape_.chunks;
    const uint32_t last = (operand.index + chunks - 1) / shape_.chunks;
    const Rank to = order_[first];
    for (uint32_t block = first + 1; block <= last; ++block) {
      if (order_[block] != to + static_cast<Rank>(block - first)) return false;
    }
    operand.index = static_cast<uint32_t>(to) * shape_.chunks + operand.index % shape_.chunks;
    return true;
  }

 private:
  const Shape& shape_;
  const std::span<const Rank> order_;
};

}  // namespace

Result<Plan> relabelled(Plan plan, std::span<const Rank> order) {
  const Shape old = plan.shape;
  const Relabel relabel(old, order);
  const auto now = [&](Rank rank) { return order[static_cast<size_t>(rank)]; };
  for (size_t i = 0; i < plan.moves.size(); ++i) {
    Move& move = plan.moves[i];
    if (!relabel.apply(move.from, move.src, move.chunks) ||
        !relabel.apply(move.with, move.dst, move.chunks) || !relabel.apply(move.to, move.dst, move.chunks)) {
      return Status(Code::invalid_argument,
                    fmt::format("move {} of the {} plan moves blocks of several ranks at once, which are not "
                                "contiguous in the new order; expected a plan that moves them separately",
                                i, plan.algorithm));
    }
    move.src = now(move.src);
    move.dst = now(move.dst);
  }
  if (has_root(old.kind)) plan.shape.root = now(old.root);
  return plan;
}

Plan with_lanes_in_order_of_use(Plan plan) {
  struct Lanes {
    std::array<int, kMaxLanes> number;  // -1: not used yet
    int used = 0;
    Lanes() { number.fill(-1); }
    uint8_t of(uint8_t lane) {
      if (number[lane] < 0) number[lane] = used++;
      return static_cast<uint8_t>(number[lane]);
    }
  };
  std::vector<Lanes> lanes(static_cast<size_t>(plan.shape.ranks));
  for (Move& move : plan.moves) {
    move.src_lane = lanes[static_cast<size_t>(move.src)].of(move.src_lane);
    move.dst_lane = lanes[static_cast<size_t>(move.dst)].of(move.dst_lane);
  }
  return plan;
}

}  // namespace weir::ir
