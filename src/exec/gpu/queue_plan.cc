// SPDX-License-Identifier: Apache-2.0

#include "src/exec/gpu/queue_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "src/exec/division.h"

namespace weir::exec::gpu {
namespace {

/// The identity of a channel, equal at both ends: sender, receiver, number.
using Name = std::tuple<Rank, Rank, uint32_t>;

Name name_of(const Program& program, const Channel& channel) {
  return channel.outgoing ? Name{program.rank, channel.peer, channel.number}
                          : Name{channel.peer, program.rank, channel.number};
}

/// Simulates one pass of all programs in rounds, in each of which a lane executes at most one step, and
/// records the steps of one rank. What a step sends or frees is seen from the next round on.
class PassRun {
 public:
  explicit PassRun(std::span<const Program> programs) : programs_(programs) {
    for (const Program& program : programs) {
      std::vector<Messages*> used;
      for (const Channel& channel : program.channels) used.push_back(&messages_[name_of(program, channel)]);
      ends_.push_back(std::move(used));
      for (uint32_t lane = 0; lane < program.lanes.size(); ++lane) {
        if (!program.lanes[lane].empty()) lanes_.push_back({&program, lane});
      }
    }
  }

  Result<std::vector<std::vector<QueuedStep>>> rounds_of(Rank rank) {
    std::vector<std::vector<QueuedStep>> rounds;
    for (bool moved = true; moved;) {
      moved = false;
      std::vector<QueuedStep> round;
      for (Lane& lane : lanes_) {
        const auto& steps = lane.program->lanes[lane.index];
        if (lane.step == steps.size() || !carry_out(lane, steps[lane.step])) continue;
        moved = true;
        if (lane.program->rank == rank) round.push_back({lane.index, lane.step});
        lane.go_on(steps[lane.step]);
      }
      end_round();
      if (moved) rounds.push_back(std::move(round));
    }
    for (const Lane& lane : lanes_) {
      if (lane.step == lane.program->lanes[lane.index].size()) continue;
      return Status(Code::invalid_argument,
                    fmt::format("the plan cannot be queued on streams: with {} slots per channel, lane {} of "
                                "rank {} is blocked forever at step {}",
                                kQueuedSlots, lane.index, lane.program->rank, lane.step));
    }
    return rounds;
  }

 private:
  struct Lane {
    const Program* program;
    uint32_t index;
    uint32_t step = 0;
    uint32_t waited = 0;

    void go_on(const Step& done) {
      if (done.op == Op::wait && ++waited < done.chunks) return;
      waited = 0;
      ++step;
    }
  };

  /// The messages of a channel.
  struct Messages {
    uint32_t arrived = 0;
    uint32_t slots = 0;  ///< slots that are not free
  };

  Messages& messages(const Lane& lane, uint16_t place) {
    const Program& program = *lane.program;
    return *ends_[static_cast<size_t>(program.rank)][program.places[place].index];
  }
  bool carry_out(const Lane& lane, const Step& step) {
    const auto& places = lane.program->places;
    for (const bool does : {false, true}) {
      for (int s = 0; s < step.sources; ++s) {
        if (places[step.src[s]].kind != Place::Kind::receive) continue;
        Messages& received = messages(lane, step.src[s]);
        if (!does && received.arrived == 0) return false;
        if (!does) continue;
        --received.arrived;
        freed_.push_back(&received);
      }
      for (int d = 0; d < step.destinations; ++d) {
        if (places[step.dst[d]].kind != Place::Kind::send) continue;
        Messages& sent = messages(lane, step.dst[d]);
        if (!does && sent.slots == kQueuedSlots) return false;
        if (!does) continue;
        ++sent.slots;
        sent_.push_back(&sent);
      }
    }
    return true;
  }
  void end_round() {
    for (Messages* const sent : sent_) ++sent->arrived;
    for (Messages* const freed : freed_) --freed->slots;
    sent_.clear();
    freed_.clear();
  }

  const std::span<const Program> programs_;
  std::map<Name, Messages> messages_;
  std::vector<std::vector<Messages*>> ends_;  ///< entries of messages_, by rank and channel
  std::vector<Lane> lanes_;
  std::vector<Messages*> sent_;   ///< one entry per message that was sent in this round
  std::vector<Messages*> freed_;  ///< one entry per slot that was freed in this round
};

/// The slots and flags that a segment and its page must hold.
struct Need {
  size_t slots = 0;
  uint32_t flags = 0;
};

/// Numbers the channels that end at each rank, in the order of its program.
class Places {
 public:
  explicit Places(std::span<const Program> programs) {
    for (const Program& program : programs) {
      Need need;
      for (const Channel& channel : program.channels) {
        if (channel.outgoing) continue;
        found_[name_of(program, channel)] = need;
        need.flags += kQueuedSlots;
        if (channel.chunks > 0) need.slots += kQueuedSlots;
      }
      needs_.push_back(need);
    }
  }
  const Need& of(Rank rank) const { return needs_[static_cast<size_t>(rank)]; }
  /// The slots and flags that precede the channel's in its receiver's segment and page.
  const Need& before(const Program& program, const Channel& channel) const {
    return found_.at(name_of(program, channel));
  }

 private:
  std::map<Name, Need> found_;
  std::vector<Need> needs_;
};

/// Sets the lane that uses each channel, and its number of messages in a pass.
void count_messages(const Program& program, std::vector<QueuedChannel>& channels) {
  for (uint32_t lane = 0; lane < program.lanes.size(); ++lane) {
    for (const Step& step : program.lanes[lane]) {
      const auto use = [&](uint16_t place, Place::Kind kind, uint32_t messages) {
        if (program.places[place].kind != kind) return;
        QueuedChannel& channel = channels[program.places[place].index];
        channel.lane = lane;
        channel.messages += messages;
      };
      for (int s = 0; s < step.sources; ++s)
        use(step.src[s], Place::Kind::receive, step.op == Op::wait ? step.chunks : 1);
      for (int d = 0; d < step.destinations; ++d) use(step.dst[d], Place::Kind::send, 1);
    }
  }
}

}  // namespace

Result<QueuePlan> plan_queue(std::span<const Program> programs, Rank rank, size_t segment_bytes,
                             uint32_t flags) {
  const Places places(programs);
  const size_t message_chunks = programs[0].message_chunks;
  QueuePlan plan;
  plan.tile_bytes = kQueuedMessageBytes / message_chunks;
  for (const Program& program : programs) {
    const Need& need = places.of(program.rank);
    const size_t tiles = need.slots * message_chunks + program.scratch_chunks;
    plan.tile_bytes = std::min(plan.tile_bytes, segment_bytes / std::max<size_t>(tiles, 1));
    if (need.flags > flags) {
      return Status(Code::invalid_argument,
                    fmt::format("the plan needs {} flags at rank {}; expected at most {}", need.flags,
                                program.rank, flags));
    }
  }
  plan.tile_bytes = plan.tile_bytes / kGrainBytes * kGrainBytes;
  if (plan.tile_bytes == 0) {
    return Status(
        Code::invalid_argument,
        fmt::format("segments of {} bytes are too small for the messages of the plan", segment_bytes));
  }
  plan.slot_bytes = message_chunks * plan.tile_bytes;
  for (const Program& program : programs)
    plan.scratch.push_back(places.of(program.rank).slots * plan.slot_bytes);
  const Program& own = programs[static_cast<size_t>(rank)];
  for (const Channel& channel : own.channels) {
    const Need& before = places.before(own, channel);
    plan.channels.push_back(
        {channel.outgoing ? channel.peer : rank, before.flags, before.slots * plan.slot_bytes});
  }
  count_messages(own, plan.channels);
  auto rounds = PassRun(programs).rounds_of(rank);
  WEIR_TRY(rounds.status());
  plan.rounds = std::move(*rounds);
  return plan;
}

}  // namespace weir::exec::gpu
