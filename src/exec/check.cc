// SPDX-License-Identifier: Apache-2.0

#include "src/exec/check.h"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <tuple>

namespace weir::exec {
namespace {

using ir::Contribution;

/// A vector clock: the last step of every lane that is known to be done.
class Clock {
 public:
  explicit Clock(size_t lanes = 0) : ticks_(lanes) {}
  void tick(size_t lane) { ++ticks_[lane]; }
  uint32_t at(size_t lane) const { return ticks_[lane]; }
  void join(const Clock& other) {
    for (size_t i = 0; i < ticks_.size(); ++i) ticks_[i] = std::max(ticks_[i], other.ticks_[i]);
  }

 private:
  std::vector<uint32_t> ticks_;
};

struct Envelope {
  std::vector<Contribution> chunks;
  Clock sent;
};

struct Fifo {
  std::deque<Envelope> messages;
  std::deque<Clock> freed;  ///< clocks of slots that were used and released
  uint32_t unused = 0;      ///< number of slots that were never used
};

/// An access to a chunk of memory.
struct Access {
  size_t lane;
  uint32_t tick;
};
struct Cell {
  Contribution value;
  bool written = false;
  Access writer{};
  std::vector<Access> readers;  ///< readers since the last write
};

struct LaneState {
  size_t number;  ///< index among all lanes of all ranks
  Rank rank;
  size_t index;  ///< index among the lanes of the rank
  const std::vector<Step>* steps;
  size_t step = 0;
  uint32_t pass = 0;
  uint32_t waited = 0;
  Clock clock{0};
};

class Simulation {
 public:
  Simulation(std::span<const Program> programs, const CheckOptions& options)
      : programs_(programs),
        options_(options),
        shape_(programs[0].shape),
        symbols_(shape_),
        scratch_(most_scratch()),
        map_(shape_, scratch_, options.placement) {
    for (const Program& program : programs) {
      for (size_t i = 0; i < program.lanes.size(); ++i) {
        lanes_.push_back({lanes_.size(), program.rank, i, &program.lanes[i], 0, 0, 0, Clock(0)});
      }
    }
    for (LaneState& lane : lanes_) lane.clock = Clock(lanes_.size());
    const std::vector<Contribution> start = map_.start(symbols_);
    cells_.resize(start.size() * options.passes);
    for (size_t i = 0; i < cells_.size(); ++i) cells_[i].value = start[i % start.size()];
  }

  Status run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (LaneState& lane : lanes_) {
        while (lane.pass < options_.passes && !lane.steps->empty()) {
          auto stepped = step(lane);
          WEIR_TRY(stepped.status());
          if (!*stepped) break;
          moved = true;
        }
      }
    }
    WEIR_TRY(no_lane_stuck());
    WEIR_TRY(no_message_left());
    WEIR_TRY(no_access_left());
    return outputs_right();
  }

 private:
  uint32_t most_scratch() const {
    uint32_t most = 0;
    for (const Program& program : programs_) most = std::max(most, program.scratch_chunks);
    return most;
  }

  const Program& program(Rank rank) const { return programs_[static_cast<size_t>(rank)]; }
  const Place& place(const LaneState& lane, uint16_t index) const { return program(lane.rank).places[index]; }

  Fifo& fifo(const LaneState& lane, const Place& end) {
    const Channel& channel = program(lane.rank).channels[end.index];
    const Rank from = channel.outgoing ? lane.rank : channel.peer;
    const Rank to = channel.outgoing ? channel.peer : lane.rank;
    return fifos_.try_emplace({from, to, channel.number}, Fifo{{}, {}, options_.slots}).first->second;
  }

  std::string where(const LaneState& lane) const {
    return fmt::format("rank {} lane {} step {}", lane.rank, lane.index, lane.step);
  }

  /// Executes the lane's step if possible; returns whether it did.
  Result<bool> step(LaneState& lane) {
    const Step& step = (*lane.steps)[lane.step];
    if (step.op != Op::move && !is_due(step, lane.pass == 0, lane.pass + 1 == options_.passes)) {
      go_on(lane);
      return true;
    }
    if (!able(lane, step)) return false;
    lane.clock.tick(lane.number);
    if (step.op == Op::wait) {
      take(lane, place(lane, step.src[0]));
      if (++lane.waited < step.chunks) return true;
      lane.waited = 0;
    } else {
      WEIR_TRY(step.op == Op::signal ? send(lane, place(lane, step.dst[0]), {}) : move(lane, step));
    }
    go_on(lane);
    return true;
  }

  static void go_on(LaneState& lane) {
    if (++lane.step < lane.steps->size()) return;
    lane.step = 0;
    ++lane.pass;
  }

  /// Buffers belong to the caller of their rank before the rank has begun and after it has ended.
  Status note_access(const LaneState& lane, const Place& place) {
    if (place.kind != Place::Kind::peer_input && place.kind != Place::Kind::peer_output) return {};
    const auto owner = static_cast<Rank>(place.index);
    accesses_[{lane.number, owner}] = lane.clock.at(lane.number);
    for (const LaneState& other : lanes_) {
      if (other.rank == owner && lane.clock.at(other.number) > 0) return {};
    }
    return refuse(lane,
                  fmt::format("uses a buffer of rank {} before that rank is known to have begun", owner));
  }

  Status no_access_left() const {
    for (const auto& [ends, tick] : accesses_) {
      const auto& [user, owner] = ends;
      bool known = false;
      for (const LaneState& lane : lanes_) known |= lane.rank == owner && lane.clock.at(user) >= tick;
      if (known) continue;
      return {Code::invalid_argument,
              fmt::format("rank {} may end while rank {} lane {} still uses its buffers", owner,
                          lanes_[user].rank, lanes_[user].index)};
    }
    return {};
  }

  bool able(LaneState& lane, const Step& step) {
    for (int s = 0; s < step.sources; ++s) {
      const Place& source = place(lane, step.src[s]);
      if (source.kind == Place::Kind::receive && fifo(lane, source).messages.empty()) return false;
    }
    for (int d = 0; d < step.destinations; ++d) {
      const Place& target = place(lane, step.dst[d]);
      if (target.kind != Place::Kind::send) continue;
      const Fifo& to = fifo(lane, target);
      if (to.unused == 0 && to.freed.empty()) return false;
    }
    return true;
  }

  std::vector<Contribution> take(LaneState& lane, const Place& from) {
    Fifo& fifo = this->fifo(lane, from);
    Envelope message = std::move(fifo.messages.front());
    fifo.messages.pop_front();
    lane.clock.join(message.sent);
    fifo.freed.push_back(lane.clock);
    return std::move(message.chunks);
  }

  Status send(LaneState& lane, const Place& to, std::vector<Contribution> chunks) {
    Fifo& fifo = this->fifo(lane, to);
    if (fifo.unused > 0) {
      --fifo.unused;
    } else {
      lane.clock.join(fifo.freed.front());
      fifo.freed.pop_front();
    }
    fifo.messages.push_back({std::move(chunks), lane.clock});
    return {};
  }

  Status move(LaneState& lane, const Step& step) {
    std::vector<std::vector<Contribution>> sources;
    std::vector<const Cell*> copied(step.chunks);  // the chunks' cells, if there is one source
    for (int s = 0; s < step.sources; ++s) {
      const Place& from = place(lane, step.src[s]);
      if (from.kind == Place::Kind::receive) {
        sources.push_back(take(lane, from));
        if (sources.back().size() == step.chunks) continue;
        return refuse(lane, fmt::format("receives a message of {} chunks; expected {}", sources.back().size(),
                                        step.chunks));
      }
      auto& values = sources.emplace_back();
      for (uint32_t i = 0; i < step.chunks; ++i) {
        WEIR_TRY(note_access(lane, from));
        Cell& cell = this->cell(lane, from, step.chunk + i);
        WEIR_TRY(read(lane, cell));
        values.push_back(cell.value);
        if (step.sources == 1) copied[i] = &cell;
      }
    }
    std::vector<Contribution> made(step.chunks);
    for (uint32_t i = 0; i < step.chunks; ++i) {
      made[i] = sources[0][i];
      if (!made[i].present()) return refuse(lane, "reads a chunk that was never written");
      for (size_t s = 1; s < sources.size(); ++s) {
        const Contribution with = made[i];
        const auto sum = symbols_.add(with, sources[s][i], made[i]);
        if (sum != ir::Symbols::Sum::right) {
          return {Code::invalid_argument, symbols_.refusal(sum, with, sources[s][i], lane.rank)};
        }
      }
    }
    for (int d = 0; d < step.destinations; ++d) {
      const Place& to = place(lane, step.dst[d]);
      if (to.kind == Place::Kind::send) {
        WEIR_TRY(send(lane, to, made));
        continue;
      }
      for (uint32_t i = 0; i < step.chunks; ++i) {
        WEIR_TRY(note_access(lane, to));
        Cell& cell = this->cell(lane, to, step.chunk + i);
        if (&cell == copied[i]) continue;  // a copy to itself is not a write
        WEIR_TRY(write(lane, cell));
        cell.value = made[i];
      }
    }
    return {};
  }

  Cell& cell(const LaneState& lane, const Place& place, uint32_t chunk) {
    using Kind = ir::Operand::Kind;
    const uint32_t index = chunk + static_cast<uint32_t>(place.bias);
    switch (place.kind) {
      case Place::Kind::input:
        return cells_[lane.pass * map_.size() + map_.place(lane.rank, {Kind::input, index})];
      case Place::Kind::output:
        return cells_[lane.pass * map_.size() + map_.place(lane.rank, {Kind::output, index})];
      case Place::Kind::peer_input:
        return cells_[lane.pass * map_.size() +
                      map_.place(static_cast<Rank>(place.index), {Kind::input, index})];
      case Place::Kind::peer_output:
        return cells_[lane.pass * map_.size() +
                      map_.place(static_cast<Rank>(place.index), {Kind::output, index})];
      case Place::Kind::peer_scratch:
        return cells_[map_.place(static_cast<Rank>(place.index), {Kind::scratch, index})];
      default:
        return cells_[map_.place(lane.rank,
                                 {Kind::scratch, index})];  // scratch is the same memory in every pass
    }
  }

  bool ordered(const LaneState& lane, const Access& before) const {
    return before.lane == lane.number || lane.clock.at(before.lane) >= before.tick;
  }

  Status read(LaneState& lane, Cell& cell) {
    if (cell.written && !ordered(lane, cell.writer)) return race(lane, cell.writer, "reads", "writes");
    cell.readers.push_back({lane.number, lane.clock.at(lane.number)});
    return {};
  }

  Status write(LaneState& lane, Cell& cell) {
    if (cell.written && !ordered(lane, cell.writer)) return race(lane, cell.writer, "writes", "writes");
    for (const Access& reader : cell.readers) {
      if (!ordered(lane, reader)) return race(lane, reader, "writes", "reads");
    }
    cell.written = true;
    cell.writer = {lane.number, lane.clock.at(lane.number)};
    cell.readers.clear();
    return {};
  }

  Status race(const LaneState& lane, const Access& other, const char* does, const char* did) const {
    const LaneState& peer = lanes_[other.lane];
    return refuse(
        lane,
        fmt::format("{} memory that rank {} lane {} also {}, and no message orders the two accesses (a race)",
                    does, peer.rank, peer.index, did));
  }

  Status refuse(const LaneState& lane, const std::string& what) const {
    return {Code::invalid_argument, where(lane) + " " + what};
  }

  Status no_lane_stuck() {
    constexpr int kNamed = 4;
    std::string named;
    int stuck = 0;
    for (LaneState& lane : lanes_) {
      if (lane.pass == options_.passes || lane.steps->empty()) continue;
      if (stuck++ < kNamed)
        named += fmt::format("{}{} waits for rank {}", named.empty() ? "" : "; ", where(lane), awaited(lane));
    }
    if (stuck == 0) return {};
    if (stuck > kNamed) named += fmt::format("; {} lanes are blocked in total", stuck);
    return {Code::invalid_argument,
            fmt::format("deadlock with {} slots per channel: {}", options_.slots, named)};
  }

  Rank awaited(LaneState& lane) {
    const Step& step = (*lane.steps)[lane.step];
    for (int s = 0; s < step.sources; ++s) {
      const Place& source = place(lane, step.src[s]);
      if (source.kind == Place::Kind::receive && fifo(lane, source).messages.empty()) {
        return program(lane.rank).channels[source.index].peer;
      }
    }
    for (int d = 0; d < step.destinations; ++d) {
      const Place& target = place(lane, step.dst[d]);
      if (target.kind != Place::Kind::send) continue;
      if (const Fifo& to = fifo(lane, target); to.unused == 0 && to.freed.empty()) {
        return program(lane.rank).channels[target.index].peer;
      }
    }
    return lane.rank;
  }

  Status no_message_left() const {
    for (const auto& [ends, fifo] : fifos_) {
      if (!fifo.messages.empty()) {
        return {Code::invalid_argument, fmt::format("rank {} sends rank {} a message that is never received",
                                                    std::get<0>(ends), std::get<1>(ends))};
      }
    }
    return {};
  }

  Status outputs_right() {
    for (uint32_t pass = 0; pass < options_.passes; ++pass) {
      for (Rank rank = 0; rank < shape_.ranks; ++rank) {
        const auto chunks = static_cast<uint32_t>(ir::output_blocks(shape_, rank)) * shape_.chunks;
        for (uint32_t c = 0; c < chunks; ++c) {
          const Contribution want = symbols_.expected(rank, c);
          const Contribution got =
              cells_[pass * map_.size() + map_.place(rank, {ir::Operand::Kind::output, c})].value;
          if (symbols_.equal(want, got)) continue;
          return {Code::invalid_argument, fmt::format("output chunk {} of rank {} in pass {} {}", c, rank,
                                                      pass, symbols_.difference(want, got))};
        }
      }
    }
    return {};
  }

  std::span<const Program> programs_;
  const CheckOptions options_;
  const ir::Shape shape_;
  ir::Symbols symbols_;
  const uint32_t scratch_;
  const ir::MemoryMap map_;
  std::vector<LaneState> lanes_;
  std::vector<Cell> cells_;
  std::map<std::tuple<Rank, Rank, uint32_t>, Fifo> fifos_;
  std::map<std::pair<size_t, Rank>, uint32_t> accesses_;  ///< tick of the last access, by lane and owner
};

}  // namespace

Status check(std::span<const Program> programs, const CheckOptions& options) {
  return Simulation(programs, options).run();
}

}  // namespace weir::exec
