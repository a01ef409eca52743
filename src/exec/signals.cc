// SPDX-License-Identifier: Apache-2.0

#include "src/exec/signals.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "algorithms/ir/symbolic.h"

namespace weir::exec {
namespace {

using ir::Move;
using ir::Operand;

constexpr int64_t kNever = Signal::kStart - 1;

bool overlap(const Operand& a, uint32_t a_chunks, const Operand& b, uint32_t b_chunks) {
  return a.kind == b.kind && a.index < b.index + b_chunks && b.index < a.index + a_chunks;
}

/// Signals for pulls: the puller waits for the owner's last writes.
class Pulls {
 public:
  Pulls(const ir::Plan& plan, Rank rank) : plan_(plan), rank_(rank) {}

  void find(uint32_t id, std::vector<Signal>& signals) {
    const Move& move = plan_.moves[id];
    const bool concerned = move.src == rank_ || move.dst == rank_;
    if (move.pull && concerned && move.from.kind == Operand::Kind::scratch) await(id, signals);
    if (move.to.kind == Operand::Kind::scratch) writers_[move.dst].push_back(id);
  }

 private:
  void await(uint32_t id, std::vector<Signal>& signals) {
    const Move& move = plan_.moves[id];
    std::map<uint8_t, int64_t> last;  // last awaited move, by lane of the owner
    for (uint32_t writer : writers_[move.src]) {
      const Move& wrote = plan_.moves[writer];
      if (overlap(wrote.to, wrote.chunks, move.from, move.chunks)) last[wrote.dst_lane] = writer;
    }
    if (last.empty()) last[0] = Signal::kStart;
    for (const auto& [owner_lane, after] : last) {
      auto& seen = seen_.try_emplace({move.src, owner_lane, move.dst, move.dst_lane}, kNever).first->second;
      if (after <= seen) continue;  // an earlier wait is sufficient
      seen = after;
      signals.push_back({after, move.src, owner_lane, move.dst, move.dst_lane, id});
    }
  }

  const ir::Plan& plan_;
  const Rank rank_;
  std::map<Rank, std::vector<uint32_t>> writers_;
  std::map<std::tuple<Rank, uint8_t, Rank, uint8_t>, int64_t> seen_;
};

/// Numbers of lanes: one more than the greatest in use.
struct LaneCounts {
  size_t most = 1;  ///< of any rank
  size_t own = 1;   ///< of the rank in question

  LaneCounts(const ir::Plan& plan, Rank rank) {
    for (const Move& move : plan.moves) {
      most = std::max({most, size_t{move.src_lane} + 1, size_t{move.dst_lane} + 1});
      if (move.src == rank) own = std::max(own, size_t{move.src_lane} + 1);
      if (move.dst == rank) own = std::max(own, size_t{move.dst_lane} + 1);
    }
  }
};

/// Signals between the lanes of one rank.
class Lanes {
 public:
  Lanes(const ir::Plan& plan, Rank rank, const LaneCounts& counts)
      : plan_(plan),
        rank_(rank),
        counts_(counts),
        known_(static_cast<size_t>(plan.shape.ranks) * counts.most * counts.own, kNever),
        map_(plan.shape, plan.scratch_chunks,
             ir::has_in_place(plan.shape.kind) ? ir::Placement::in_place : ir::Placement::apart) {}

  void find(uint32_t id, std::vector<Signal>& signals) {
    const Move& move = plan_.moves[id];
    if (move.src == rank_ && !move.pull) touch(id, move.from, false, lane_at(move, rank_), signals);
    if (move.push) {
      if (move.src == rank_) known(rank_, move.src_lane)[move.src_lane] = id;
      return;
    }
    if (move.src != move.dst && !move.pull) {  // a message orders everything that its sender knows to be done
      const Known sender = known(move.src, move.src_lane);
      if (move.src == rank_) sender[move.src_lane] = id;
      hear(known(move.dst, move.dst_lane), sender);
    }
    if (move.dst != rank_) return;
    touch(id, move.with, false, move.dst_lane, signals);
    touch(id, move.to, true, move.dst_lane, signals);
    known(rank_, move.dst_lane)[move.dst_lane] = id;
  }

  std::vector<LaneDrain> drains() const { return {drains_.begin(), drains_.end()}; }

 private:
  /// The last move of each lane of rank_ that is known to be done.
  using Known = std::span<int64_t>;
  struct Access {
    uint32_t move;
    uint8_t lane;
    bool writes;
    bool scratch;
    size_t first, end;
  };

  /// What a lane of a rank knows.
  Known known(Rank rank, uint8_t lane) {
    const size_t at = static_cast<size_t>(rank) * counts_.most + lane;
    return Known(known_).subspan(at * counts_.own, counts_.own);
  }

  static void hear(Known listener, Known news) {
    for (size_t lane = 0; lane < news.size(); ++lane) listener[lane] = std::max(listener[lane], news[lane]);
  }

  /// Records that move `id` reads or writes `place` in `lane`, and adds signals from conflicting accesses of
  /// other lanes.
  void touch(uint32_t id, const Operand& place, bool writes, uint8_t lane, std::vector<Signal>& signals) {
    if (!place.in_memory()) return;
    const size_t first = map_.place(rank_, place);
    const Access access{
        id, lane, writes, place.kind == Operand::Kind::scratch, first, first + plan_.moves[id].chunks};
    std::map<uint8_t, uint32_t> last;  // last conflicting access, by other lane
    for (const Access& old : accesses_) {
      if (old.lane == lane || (!old.writes && !writes) || old.end <= access.first || access.end <= old.first)
        continue;
      last[old.lane] = old.move;
      if (!access.scratch) continue;
      // The next pass uses the same scratch memory.
      if (writes) drains_.insert({old.lane, lane});
      if (old.writes) drains_.insert({lane, old.lane});
    }
    const Known own = known(rank_, lane);
    for (const auto& [other, move] : last) {
      if (own[other] >= move) continue;
      signals.push_back({move, rank_, other, rank_, lane, id});
      own[other] = move;
    }
    accesses_.push_back(access);
  }

  const ir::Plan& plan_;
  const Rank rank_;
  const LaneCounts counts_;
  std::vector<int64_t> known_;  ///< by rank, its lane, and the lane of rank_
  const ir::MemoryMap map_;
  std::vector<Access> accesses_;
  std::set<LaneDrain> drains_;
};

}  // namespace

Signals find_signals(const ir::Plan& plan, Rank rank) {
  Signals found;
  Pulls pulls(plan, rank);
  const LaneCounts counts(plan, rank);
  Lanes lanes(plan, rank, counts);
  for (uint32_t id = 0; id < plan.moves.size(); ++id) {
    pulls.find(id, found.signals);
    if (counts.own > 1) lanes.find(id, found.signals);
  }
  found.drains = lanes.drains();
  return found;
}

std::set<DirectAccess> find_direct_accesses(const ir::Plan& plan, Rank rank) {
  std::set<DirectAccess> found;
  for (const Move& move : plan.moves) {
    if (move.src != rank && move.dst != rank) continue;
    if (move.pull && move.from.kind != Operand::Kind::scratch)
      found.insert({move.src, move.dst, move.dst_lane});
    if (move.push) found.insert({move.dst, move.src, move.src_lane});
  }
  return found;
}

}  // namespace weir::exec
