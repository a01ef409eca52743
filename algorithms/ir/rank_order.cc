// SPDX-License-Identifier: Apache-2.0

#include "algorithms/ir/rank_order.h"

#include <fmt/format.h>

#include <vector>

#include "algorithms/ir/symbolic.h"

namespace weir::ir {
namespace {

/// The consecutive ranks whose inputs a chunk sums, in their order.
struct RankRange {
  Rank first = -1;
  Rank last = -1;
};

std::string words(RankRange range) {
  if (range.first == range.last) return fmt::format("rank {}", range.first);
  return fmt::format("ranks {}-{}", range.first, range.last);
}

/// Carries a plan out, chunk by chunk.
class OrderedRun {
 public:
  OrderedRun(const Plan& plan, Placement placement)
      : plan_(plan), map_(plan.shape, plan.scratch_chunks, placement), memory_(map_.size()) {
    for (Rank rank = 0; rank < plan.shape.ranks; ++rank) {
      const auto inputs = static_cast<uint32_t>(map_.chunks(rank, Operand::Kind::input));
      for (uint32_t c = 0; c < inputs; ++c)
        memory_[map_.place(rank, {Operand::Kind::input, c})] = {rank, rank};
    }
  }

  Status check() {
    for (size_t number = 0; number < plan_.moves.size(); ++number) WEIR_TRY(carry_out(number));
    return {};
  }

 private:
  RankRange read(Rank rank, Operand operand, uint32_t chunk) const {
    if (operand.kind == Operand::Kind::value) return values_[operand.index][chunk];
    return memory_[map_.place(rank, operand) + chunk];
  }

  Status carry_out(size_t number) {
    const Move& move = plan_.moves[number];
    std::vector<RankRange>& value = values_.emplace_back(move.chunks);
    for (uint32_t c = 0; c < move.chunks; ++c) {
      value[c] = read(move.src, move.from, c);
      if (move.with.kind != Operand::Kind::none) {
        const RankRange with = read(move.dst, move.with, c);
        const bool next =
            with.first == 0 && value[c].first == value[c].last && with.last + 1 == value[c].first;
        if (!next)
          return {Code::invalid_argument,
                  fmt::format("move {} adds {} to {} at rank {}; expected sums in rank order, from rank 0 on",
                              number, words(value[c]), words(with), move.dst)};
        value[c] = {0, value[c].last};
      }
      if (move.to.in_memory()) memory_[map_.place(move.dst, move.to) + c] = value[c];
    }
    return {};
  }

  const Plan& plan_;
  const MemoryMap map_;
  std::vector<RankRange> memory_;
  std::vector<std::vector<RankRange>> values_;  // index: move, chunk
};

}  // namespace

Status check_rank_order(const Plan& plan) {
  if (!reduces(plan.shape.kind)) return {};
  WEIR_TRY(OrderedRun(plan, Placement::apart).check());
  return OrderedRun(plan, Placement::in_place).check();
}

}  // namespace weir::ir
