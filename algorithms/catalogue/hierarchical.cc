// SPDX-License-Identifier: Apache-2.0

#include "algorithms/catalogue/hierarchical.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "algorithms/ir/builder.h"
#include "src/base/index.h"

namespace weir::algorithms {
namespace {

using ir::Builder;
using ir::MoveId;
using ir::Operand;
using ir::Shape;

constexpr int kNone = -1;
constexpr uint8_t kOwnLane = 0;

/// Number of lanes of the rings of `levels` and of the rings of single ranks.
constexpr size_t ring_lanes(size_t levels) { return 2 * (levels + 1); }

/// Twice that number, for the second phase of an all-reduce; times the number of blocks that a rank receives
/// in one round.
constexpr size_t lane_stride(size_t levels) { return 2 * ring_lanes(levels); }
constexpr size_t abreast(size_t levels) { return (ir::kMaxLanes - 1) / lane_stride(levels); }

constexpr size_t kMostLevels = 14;
static_assert(abreast(kMostLevels) == 1);

/// A move of a block from one rank to another, in an all-gather.
struct BlockHop {
  Rank owner;
  Rank src;
  Rank dst;
  uint8_t src_lane;  ///< lane in which src received the block
  uint8_t dst_lane;
  int before;  ///< index of the hop by which src received it; kNone: src is the owner
};

/// The current position of a block.
struct Held {
  Rank owner;
  Rank rank;
  uint8_t lane;
  int hop;  ///< index of the hop by which it came, or kNone
};

struct Range {
  Rank first;
  Rank end;
  int size() const { return end - first; }
};

/// All hops, ordered such that a lane of a rank has finished with a block before it gets the next.
class Spreading {
 public:
  Spreading(int ranks, std::span<const Groups> levels)
      : levels_(levels), turns_(levels.size() + 1, std::vector<int>(at(ranks))) {
    Batch own;
    for (Rank rank = 0; rank < ranks; ++rank) own.push_back({rank, rank, kOwnLane, kNone});
    spread(0, {0, ranks}, own);
  }
  std::vector<BlockHop> take() { return std::move(hops_); }

 private:
  using Batch = std::vector<Held>;  ///< blocks at different ranks, in the order of ranks

  /// Spreads the blocks to all ranks of `range`, which `level` divides.
  void spread(size_t level, Range range, const Batch& blocks) {
    if (range.size() == 1) return;
    const std::vector<Range> groups = divide(level, range);
    if (groups.size() == 1) return spread(level + 1, range, blocks);
    std::vector<Batch> own(groups.size());
    int narrowest = range.size();
    size_t most = 0;
    for (size_t g = 0, next = 0; g < groups.size(); ++g) {
      while (next < blocks.size() && blocks[next].rank < groups[g].end) own[g].push_back(blocks[next++]);
      spread(level + 1, groups[g], own[g]);
      narrowest = std::min(narrowest, groups[g].size());
      most = std::max(most, own[g].size());
    }
    const size_t at_once = at(narrowest) * abreast(levels_.size());  // limited by the ranks' lanes
    for (size_t first = 0; first < most; first += at_once) {
      std::vector<Batch> wave;
      for (const Batch& all : own) wave.push_back(part(all, first, at_once));
      go_around(level, groups, std::move(wave));
    }
  }

  static Batch part(const Batch& blocks, size_t first, size_t count) {
    const size_t end = std::min(first + count, blocks.size());
    return {blocks.begin() + static_cast<long>(std::min(first, end)),
            blocks.begin() + static_cast<long>(end)};
  }

  /// Spreads each group's blocks to all other groups, and there to all ranks.
  void go_around(size_t level, const std::vector<Range>& groups, std::vector<Batch> blocks) {
    for (size_t round = 1; round < groups.size(); ++round) {
      const size_t lane = 1 + 2 * level + round % 2;
      std::vector<Batch> arrived(groups.size());
      for (size_t g = 0; g < groups.size(); ++g) {
        const size_t next = (g + 1) % groups.size();
        for (const Held& held : blocks[g]) {
          const Rank entry = next_entry(level, groups[next]);
          const size_t before =
              arrived[next].size() / at(groups[next].size());  // blocks that the rank received in this round
          const auto own_lane = static_cast<uint8_t>(lane + before * lane_stride(levels_.size()));
          arrived[next].push_back({held.owner, entry, own_lane, static_cast<int>(hops_.size())});
          hops_.push_back({held.owner, held.rank, entry, held.lane, own_lane, held.hop});
        }
      }
      for (size_t g = 0; g < groups.size(); ++g) {
        const size_t size = at(groups[g].size());
        for (size_t first = 0; first < arrived[g].size(); first += size) {
          Batch batch = part(arrived[g], first, size);
          std::sort(batch.begin(), batch.end(), [](auto& a, auto& b) { return a.rank < b.rank; });
          spread(level + 1, groups[g], batch);
        }
      }
      blocks = std::move(arrived);
    }
  }

  /// Ranks of a group receive data from outside in turn.
  Rank next_entry(size_t level, Range group) {
    return group.first + turns_[level][at(group.first)]++ % group.size();
  }

  std::vector<Range> divide(size_t level, Range range) const {
    std::vector<Range> groups;
    const auto add = [&](Rank first) {
      if (!groups.empty()) groups.back().end = first;
      groups.push_back({first, range.end});
    };
    if (level == levels_.size()) {
      for (Rank rank = range.first; rank < range.end; ++rank) add(rank);
      return groups;
    }
    const Groups& starts = levels_[level];
    for (auto it = std::lower_bound(starts.begin(), starts.end(), range.first);
         it != starts.end() && *it < range.end; ++it) {
      add(*it);
    }
    return groups;
  }

  const std::span<const Groups> levels_;
  std::vector<std::vector<int>> turns_;  ///< blocks received; index: level, group's first position
  std::vector<BlockHop> hops_;
};

uint32_t block_of(Rank owner, uint32_t chunks) { return static_cast<uint32_t>(owner) * chunks; }

/// All hops backwards: owners end with the sums of their blocks, stored where `target(owner)` says. Returns
/// the moves that made them; index: owner.
template <typename Target>
std::vector<MoveId> sum_up(Builder& plan, const std::vector<BlockHop>& hops, uint32_t chunks,
                           Target&& target) {
  const auto ranks = at(plan.shape().ranks);
  std::vector<Operand> sums(hops.size()), whole(ranks);  // at dst of the hop, and at owners; none: own input
  std::vector<int> missing(ranks);
  for (const BlockHop& hop : hops) missing[at(hop.owner)] += hop.before == kNone ? 1 : 0;
  std::vector<MoveId> made(ranks);
  for (size_t h = hops.size(); h-- > 0;) {
    const BlockHop& hop = hops[h];
    const Operand own = ir::input(block_of(hop.owner, chunks));
    const auto so_far = [&](const Operand& sum) { return sum.kind == Operand::Kind::none ? own : sum; };
    Operand& sum = hop.before == kNone ? whole[at(hop.owner)] : sums[at(hop.before)];
    const bool last = hop.before == kNone && --missing[at(hop.owner)] == 0;
    plan.lanes(hop.dst_lane, hop.src_lane);
    const MoveId move =
        plan.send(hop.dst, hop.src, so_far(sums[h]),
                  {.with = so_far(sum), .to = last ? target(hop.owner) : Operand{}, .chunks = chunks});
    sum = ir::value(move);
    if (last) made[at(hop.owner)] = move;
  }
  return made;
}

/// All hops; owners begin with the values of the moves `made`. The rings' lanes begin after the first `shift`
/// lanes.
void hand_out(Builder& plan, const std::vector<BlockHop>& hops, uint32_t chunks,
              const std::vector<MoveId>& made, size_t shift) {
  const auto shifted = [&](uint8_t lane) {
    return static_cast<uint8_t>(lane == kOwnLane ? lane : lane + shift);
  };
  std::vector<MoveId> got;
  for (const BlockHop& hop : hops) {
    plan.lanes(shifted(hop.src_lane), shifted(hop.dst_lane));
    const Operand from = ir::value(hop.before == kNone ? made[at(hop.owner)] : got[at(hop.before)]);
    got.push_back(
        plan.send(hop.src, hop.dst, from, {.to = ir::output(block_of(hop.owner, chunks)), .chunks = chunks}));
  }
}

Status wrong(std::string message) { return {Code::invalid_argument, std::move(message)}; }

}  // namespace

Status check_levels(std::span<const Groups> levels, int ranks) {
  if (levels.empty()) return wrong("no groups of ranks: expected groups by host or leaf");
  if (levels.size() > kMostLevels) {
    return wrong(fmt::format("{} levels of groups: expected at most {}", levels.size(), kMostLevels));
  }
  for (size_t level = 0; level < levels.size(); ++level) {
    const Groups& groups = levels[level];
    const bool rises =
        std::adjacent_find(groups.begin(), groups.end(), std::greater_equal<>()) == groups.end();
    if (groups.empty() || groups[0] != 0 || !rises || groups.back() >= ranks) {
      return wrong(fmt::format("groups {} of {} ranks: expected ascending first positions that begin with 0",
                               fmt::join(groups, ","), ranks));
    }
    if (level == 0) continue;
    const Groups& wider = levels[level - 1];
    if (!std::includes(groups.begin(), groups.end(), wider.begin(), wider.end())) {
      return wrong(fmt::format("groups {} do not divide the wider groups {}", fmt::join(groups, ","),
                               fmt::join(wider, ",")));
    }
  }
  return {};
}

ir::Plan hierarchical_all_reduce(const Shape& shape, std::span<const Groups> levels) {
  const std::vector<BlockHop> hops = Spreading(shape.ranks, levels).take();
  const uint32_t share = shape.chunks / static_cast<uint32_t>(shape.ranks);
  Builder plan("hierarchical", shape);
  const auto sums = sum_up(plan, hops, share, [&](Rank owner) { return ir::output(block_of(owner, share)); });
  hand_out(plan, hops, share, sums, ring_lanes(levels.size()));
  return plan.take();
}

ir::Plan hierarchical_reduce_scatter(const Shape& shape, std::span<const Groups> levels) {
  Builder plan("hierarchical", shape);
  sum_up(plan, Spreading(shape.ranks, levels).take(), shape.chunks, [](Rank) { return ir::output(0); });
  return plan.take();
}

ir::Plan hierarchical_all_gather(const Shape& shape, std::span<const Groups> levels) {
  Builder plan("hierarchical", shape);
  plan.lane(kOwnLane);
  std::vector<MoveId> own;
  for (Rank rank = 0; rank < shape.ranks; ++rank) {
    own.push_back(plan.local(rank, ir::input(0),
                             {.to = ir::output(block_of(rank, shape.chunks)), .chunks = shape.chunks}));
  }
  hand_out(plan, Spreading(shape.ranks, levels).take(), shape.chunks, own, 0);
  return plan.take();
}

}  // namespace weir::algorithms
