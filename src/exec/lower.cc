// SPDX-License-Identifier: Apache-2.0

#include "src/exec/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "algorithms/ir/symbolic.h"
#include "src/exec/lane_builder.h"
#include "src/exec/signals.h"

namespace weir::exec {
namespace {

using ir::Move;

class Lowering {
 public:
  Lowering(const ir::Plan& plan, std::span<const Fact> facts, Rank rank, Peers peers)
      : plan_(plan), rank_(rank), peers_(peers), facts_(facts), tables_(program_) {}

  Result<Program> lower() {
    program_.shape = plan_.shape;
    program_.rank = rank_;
    size_lanes();
    const Signals found = find_signals(plan_, rank_);
    for (const Signal& s : found.signals) {
      if (s.owner == rank_) sends_[s.after].push_back(s);
      if (s.reader == rank_) waits_[s.before].push_back(s);
    }
    const std::set<DirectAccess> accesses = find_direct_accesses(plan_, rank_);
    emit_begins(accesses);
    emit_signals(Signal::kStart);
    for (uint32_t id = 0; id < plan_.moves.size(); ++id) {
      WEIR_TRY(emit(id));
      emit_signals(id);
    }
    emit_drains(found.drains);
    emit_ends(accesses);
    for (LaneBuilder& lane : lanes_) {
      auto steps = lane.take();
      WEIR_TRY(steps.status());
      program_.lanes.push_back(std::move(*steps));
    }
    return std::move(program_);
  }

 private:
  /// Scratch has space for a spilled value of every lane; its size is the same on all ranks, because peers
  /// must agree on it.
  void size_lanes() {
    uint32_t own = 0;
    uint32_t most = 0;
    for (const Move& move : plan_.moves) {
      program_.message_chunks = std::max(program_.message_chunks, move.chunks);
      if (move.src == rank_) own = std::max<uint32_t>(own, move.src_lane);
      if (move.dst == rank_) own = std::max<uint32_t>(own, move.dst_lane);
      most = std::max<uint32_t>({most, move.src_lane, move.dst_lane});
    }
    for (uint32_t lane = 0; lane <= own; ++lane) {
      lanes_.emplace_back(tables_, plan_.scratch_chunks + lane * program_.message_chunks);
    }
    program_.scratch_chunks = plan_.scratch_chunks + (most + 1) * program_.message_chunks;
  }

  Status emit(uint32_t id) {
    const Move& move = plan_.moves[id];
    if (const auto needed = waits_.find(id); needed != waits_.end()) {
      for (const Signal& s : needed->second) {
        const uint32_t number = signal_channel(s.owner_lane, s.reader_lane);
        lanes_[s.reader_lane].wait(tables_.channel(s.owner, number, false, 0), 1);
      }
    }
    if (move.src == rank_ && move.dst != rank_ && !move.pull) {
      auto target = target_of(id);
      WEIR_TRY(target.status());
      WEIR_TRY(lanes_[move.src_lane].depart(id, plan_, *target, facts_[id]));
    }
    if (move.dst == rank_ && !move.push) {
      auto source = source_of(id);
      WEIR_TRY(source.status());
      WEIR_TRY(lanes_[move.dst_lane].arrive(id, plan_, *source, facts_[id]));
    }
    return {};
  }

  /// The destination of move `id` on its source rank: a channel or the peer's output.
  Result<LaneBuilder::Site> target_of(uint32_t id) {
    const Move& move = plan_.moves[id];
    if (!move.push) {
      const uint32_t number = data_channel(move.src_lane, move.dst_lane);
      return LaneBuilder::Site{Place::Kind::send, tables_.channel(move.dst, number, true, move.chunks), 0};
    }
    if (peers_ != Peers::buffers || move.to.kind != ir::Operand::Kind::output) {
      return Status(Code::invalid_argument,
                    fmt::format("move {} pushes to {}; expected a plan in which ranks write only their own "
                                "memory{}",
                                id, move.to.kind == ir::Operand::Kind::output ? "output" : "scratch",
                                peers_ == Peers::buffers ? " and output of others" : ""));
    }
    return LaneBuilder::Site{Place::Kind::peer_output, static_cast<uint32_t>(move.dst), move.to.index};
  }

  /// The source of the new bytes of move `id` on its destination rank.
  Result<LaneBuilder::Site> source_of(uint32_t id) {
    const Move& move = plan_.moves[id];
    using Kind = ir::Operand::Kind;
    if (move.pull) {
      const auto peer = static_cast<uint32_t>(move.src);
      if (peers_ == Peers::buffers && move.from.kind == Kind::input)
        return LaneBuilder::Site{Place::Kind::peer_input, peer, move.from.index};
      if (peers_ == Peers::buffers && move.from.kind == Kind::output)
        return LaneBuilder::Site{Place::Kind::peer_output, peer, move.from.index};
      if (move.from.kind != Kind::scratch) {
        return Status(
            Code::invalid_argument,
            fmt::format(
                "move {} pulls from a user buffer; expected a plan in which ranks pull only from scratch",
                id));
      }
      pulled_.insert({move.src, move.dst_lane});
      return LaneBuilder::Site{Place::Kind::peer_scratch, peer, move.from.index};
    }
    if (move.src != rank_) {
      const uint32_t number = data_channel(move.src_lane, move.dst_lane);
      return LaneBuilder::Site{Place::Kind::receive, tables_.channel(move.src, number, false, move.chunks),
                               0};
    }
    const ir::Operand from = move.from.kind == Kind::value ? plan_.moves[move.from.index].to : move.from;
    if (!from.in_memory()) {
      return Status(Code::invalid_argument,
                    fmt::format("move {} copies the value of move {}, which is not kept in memory", id,
                                move.from.index));
    }
    const Place::Kind kind = from.kind == Kind::input    ? Place::Kind::input
                             : from.kind == Kind::output ? Place::Kind::output
                                                         : Place::Kind::scratch;
    return LaneBuilder::Site{kind, 0, from.index};
  }

  void emit_signals(int64_t after) {
    const auto due = sends_.find(after);
    if (due == sends_.end()) return;
    for (const Signal& s : due->second) {
      lanes_[s.owner_lane].signal(
          tables_.channel(s.reader, signal_channel(s.owner_lane, s.reader_lane), true, 0));
    }
  }

  /// In the first pass each rank whose buffers are accessed signals that it has begun; all users wait for
  /// this first.
  void emit_begins(const std::set<DirectAccess>& accesses) {
    for (const auto& [owner, user, lane] : accesses) {
      if (owner == rank_)
        lanes_[0].signal(tables_.channel(user, signal_channel(0, lane), true, 0), PassFilter::first);
    }
    for (const auto& [owner, user, lane] : accesses) {
      if (user == rank_)
        lanes_[lane].wait(tables_.channel(owner, signal_channel(0, lane), false, 0), 1, PassFilter::first);
    }
  }

  /// In the last pass each rank waits until other ranks have finished their accesses to its buffers.
  void emit_ends(const std::set<DirectAccess>& accesses) {
    for (const auto& [owner, user, lane] : accesses) {
      if (user == rank_)
        lanes_[lane].signal(tables_.channel(owner, signal_channel(lane, 0), true, 0), PassFilter::last);
    }
    for (const auto& [owner, user, lane] : accesses) {
      if (owner == rank_)
        lanes_[0].wait(tables_.channel(user, signal_channel(lane, 0), false, 0), 1, PassFilter::last);
    }
  }

  /// At the end of a pass each rank whose scratch was pulled waits for signals that it may be written again,
  /// and so do lanes that share scratch.
  void emit_drains(const std::vector<LaneDrain>& drains) {
    std::set<std::pair<Rank, uint8_t>> pullers;
    for (const Move& move : plan_.moves) {
      const bool pulls = move.pull && move.from.kind == ir::Operand::Kind::scratch;
      if (pulls && move.src == rank_ && move.dst != rank_) pullers.insert({move.dst, move.dst_lane});
    }
    for (const auto& [owner, lane] : pulled_) {
      if (owner != rank_) lanes_[lane].signal(tables_.channel(owner, signal_channel(lane, kDrain), true, 0));
    }
    for (const auto& [puller, lane] : pullers) {
      lanes_[0].wait(tables_.channel(puller, signal_channel(lane, kDrain), false, 0), 1);
    }
    for (const auto& [from, to] : drains) {
      lanes_[from].signal(tables_.channel(rank_, signal_channel(from, to), true, 0));
    }
    for (const auto& [from, to] : drains) {
      lanes_[to].wait(tables_.channel(rank_, signal_channel(from, to), false, 0), 1);
    }
  }

  static constexpr uint8_t kDrain = 255;  // no lane has this number: drains have separate channels

  const ir::Plan& plan_;
  const Rank rank_;
  const Peers peers_;
  const std::span<const Fact> facts_;
  Program program_;
  ProgramTables tables_;
  std::vector<LaneBuilder> lanes_;
  std::map<int64_t, std::vector<Signal>> sends_;
  std::map<uint32_t, std::vector<Signal>> waits_;
  std::set<std::pair<Rank, uint8_t>> pulled_;
};

}  // namespace

std::vector<Fact> facts_of(const ir::Plan& plan) {
  ir::Symbols symbols(plan.shape);
  const ir::MemoryMap map(plan.shape, plan.scratch_chunks, ir::Placement::apart);
  std::vector<ir::Contribution> memory = map.start(symbols);
  const ir::SetId everyone = ir::RankSets(plan.shape.ranks).all();
  std::vector<std::vector<ir::Contribution>> made;  // indexed by move, then by chunk
  std::vector<Fact> facts;
  for (const Move& move : plan.moves) {
    const bool folds = move.with.kind != ir::Operand::Kind::none;
    std::vector<ir::Contribution>& values = made.emplace_back(move.chunks);
    for (uint32_t i = 0; i < move.chunks; ++i) {
      const auto read = [&](Rank rank, const ir::Operand& operand) {
        if (operand.kind == ir::Operand::Kind::value) return made[operand.index][i];
        return memory[map.place(rank, {operand.kind, operand.index + i})];
      };
      values[i] = read(move.src, move.from);
      if (folds) symbols.add(read(move.dst, move.with), values[i], values[i]);
      if (move.to.in_memory()) memory[map.place(move.dst, {move.to.kind, move.to.index + i})] = values[i];
    }
    const bool whole = symbols.equal(values[0], {values[0].chunk, everyone});
    facts.push_back({values[0].chunk % plan.shape.chunks,
                     reduces(plan.shape.kind) && (folds || plan.shape.ranks == 1) && whole});
  }
  return facts;
}

Result<Program> lower(const ir::Plan& plan, std::span<const Fact> facts, Rank rank, Peers peers) {
  return Lowering(plan, facts, rank, peers).lower();
}

Result<Program> lower(const ir::Plan& plan, Rank rank, Peers peers) {
  return lower(plan, facts_of(plan), rank, peers);
}

}  // namespace weir::exec
