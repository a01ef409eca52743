// SPDX-License-Identifier: Apache-2.0

#include "algorithms/msccl/lanes.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "algorithms/msccl/blocks.h"
#include "algorithms/msccl/work_order.h"

namespace weir::msccl {
namespace {

using ir::Move;
using ir::Operand;
using Kind = Operand::Kind;

/// Joins work into sets (union-find).
class Sets {
 public:
  explicit Sets(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t find(size_t work) {
    while (parent_[work] != work) work = parent_[work] = parent_[parent_[work]];
    return work;
  }
  /// The set keeps the name of its first work.
  void join(size_t a, size_t b) {
    a = find(a), b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<size_t> parent_;
};

/// One piece of work accesses one chunk of memory.
struct Access {
  size_t chunk;
  size_t work;
  bool writes;
};

/// Joins all work that accesses the same chunk, if some of it writes.
void join_conflicts(std::vector<Access>& accesses, Sets& sets) {
  std::stable_sort(accesses.begin(), accesses.end(),
                   [](const Access& a, const Access& b) { return a.chunk < b.chunk; });
  for (auto first = accesses.begin(); first != accesses.end();) {
    const auto end =
        std::find_if(first, accesses.end(), [&](const Access& other) { return other.chunk != first->chunk; });
    const bool written = std::any_of(first, end, [](const Access& access) { return access.writes; });
    for (auto other = first; written && other != end; ++other) sets.join(first->work, other->work);
    first = end;
  }
}

/// The sets of work that must share a lane.
Sets dependent_work(const ir::Plan& plan) {
  const ir::MemoryMap map(plan.shape, plan.scratch_chunks, tightest_placement(plan.shape));
  Sets sets(2 * plan.moves.size());
  std::vector<Access> accesses;
  const auto access = [&](Rank rank, Operand operand, uint32_t chunks, size_t work, bool writes) {
    if (operand.kind == Kind::value) {
      sets.join(receiving(plan, operand.index), work);
      operand = plan.moves[operand.index].to;
    }
    if (!operand.in_memory()) return;
    for (uint32_t c = 0; c < chunks; ++c) accesses.push_back({map.place(rank, operand) + c, work, writes});
  };
  for (size_t m = 0; m < plan.moves.size(); ++m) {
    const Move& move = plan.moves[m];
    access(move.src, move.from, move.chunks, sending(m), false);
    access(move.dst, move.with, move.chunks, receiving(plan, m), false);
    access(move.dst, move.to, move.chunks, receiving(plan, m), true);
  }
  join_conflicts(accesses, sets);
  return sets;
}

/// Stores values that are not sent on by the next move of their lane, where lowering could not find them.
void keep_values(ir::Plan& plan) {
  std::vector<size_t> open(static_cast<size_t>(plan.shape.ranks) * ir::kMaxLanes, kNoMove);
  std::vector<uint32_t> scratch(static_cast<size_t>(plan.shape.ranks), plan.scratch_chunks);
  for (size_t m = 0; m < plan.moves.size(); ++m) {
    const Move& move = plan.moves[m];
    const auto lane = [&](Rank rank, uint8_t number) -> size_t& {
      return open[static_cast<size_t>(rank) * ir::kMaxLanes + number];
    };
    size_t& source = lane(move.src, move.src_lane);
    if (move.from.kind != Kind::value || source != move.from.index) source = kNoMove;
    if (move.from.kind == Kind::value && (source == kNoMove || move.src == move.dst)) {
      if (Move& maker = plan.moves[move.from.index]; maker.to.kind == Kind::none) {
        uint32_t& used = scratch[static_cast<size_t>(maker.dst)];
        maker.to = {Kind::scratch, used};
        used += maker.chunks;
      }
    }
    lane(move.dst, move.dst_lane) = m;
  }
  plan.scratch_chunks = *std::max_element(scratch.begin(), scratch.end());
}

}  // namespace

void assign_lanes(ir::Plan& plan, std::span<const size_t> most) {
  Sets sets = dependent_work(plan);
  std::vector<int> lane_of(2 * plan.moves.size(), -1);
  std::vector<size_t> next(static_cast<size_t>(plan.shape.ranks));
  const auto lane = [&](Rank rank, size_t work) {
    int& own = lane_of[sets.find(work)];
    const auto at = static_cast<size_t>(rank);
    if (own < 0) own = static_cast<int>(next[at]++ % std::clamp<size_t>(most[at], 1, ir::kMaxLanes));
    return static_cast<uint8_t>(own);
  };
  for (size_t m = 0; m < plan.moves.size(); ++m) {
    Move& move = plan.moves[m];
    move.src_lane = lane(move.src, sending(m));
    move.dst_lane = lane(move.dst, receiving(plan, m));
  }
  keep_values(plan);
}

}  // namespace weir::msccl
