// SPDX-License-Identifier: Apache-2.0

#include "algorithms/msccl/blocks.h"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/ir/symbolic.h"

namespace weir::msccl {
namespace {

using ir::Move;
using ir::Operand;
using Kind = Operand::Kind;

constexpr Rank kNobody = -1;
constexpr size_t kNothing = SIZE_MAX;

ir::Placement placement(const ir::Shape& shape) {
  return ir::has_in_place(shape.kind) ? ir::Placement::in_place : ir::Placement::apart;
}

class Assembly {
 public:
  explicit Assembly(const ir::Plan& plan)
      : plan_(plan),
        map_(plan.shape, plan.scratch_chunks, placement(plan.shape)),
        writer_(map_.size(), kNothing),
        made_(plan.moves.size()),
        stored_(plan.moves.size()),
        next_(plan.moves.size(), kNobody),
        channel_(plan.moves.size()) {
    blocks_.gpus.resize(static_cast<size_t>(plan.shape.ranks));
    blocks_.scratch.assign(static_cast<size_t>(plan.shape.ranks), plan.scratch_chunks);
    for (const Move& move : plan.moves) {
      if (move.from.kind == Kind::value && move.src != move.dst) next_[move.from.index] = move.dst;
    }
  }

  /// Round by round; in each round all blocks send before they receive, because then received data can be
  /// sent on as it arrives.
  Result<Blocks> assemble() {
    for (const std::vector<size_t>& round : rounds()) {
      for (const size_t move : round) WEIR_TRY(send(move));
      for (const size_t move : round) {
        WEIR_TRY(arrive(move));
        keep(move);
      }
    }
    add_waits();
    return std::move(blocks_);
  }

 private:
  std::vector<MscclBlock>& gpu(Rank rank) { return blocks_.gpus[static_cast<size_t>(rank)]; }
  MscclStep& at(Rank rank, StepPosition place) {
    return gpu(rank)[static_cast<size_t>(place.block)].steps[place.step];
  }

  /// Groups moves by the length of the chain of moves that must precede them.
  std::vector<std::vector<size_t>> rounds() const {
    struct Known {
      size_t read = 0, written = 0;  // number of the round after the last access
    };
    std::vector<Known> memory(map_.size());
    std::vector<size_t> made(plan_.moves.size());  // index: move; the round after it
    std::vector<std::vector<size_t>> rounds;
    for (size_t number = 0; number < plan_.moves.size(); ++number) {
      const Move& move = plan_.moves[number];
      size_t round = 0;
      const auto for_each = [&](Operand operand, Rank rank, auto action) {
        if (!operand.in_memory()) return;
        const size_t first = map_.place(rank, operand);
        for (uint32_t c = 0; c < move.chunks; ++c) action(memory[first + c]);
      };
      const auto after_write = [&](const Known& chunk) { round = std::max(round, chunk.written); };
      const auto after_all = [&](const Known& chunk) {
        round = std::max({round, chunk.written, chunk.read});
      };
      for (const Operand operand : {move.from, move.with})
        if (operand.kind == Kind::value) round = std::max(round, made[operand.index]);
      for_each(move.from, move.src, after_write);
      for_each(move.with, move.dst, after_write);
      for_each(move.to, move.dst, after_all);
      made[number] = round + 1;
      const auto read = [&](Known& chunk) { chunk.read = std::max(chunk.read, round + 1); };
      for_each(move.from, move.src, read);
      for_each(move.with, move.dst, read);
      for_each(move.to, move.dst, [&](Known& chunk) { chunk.written = round + 1; });
      rounds.resize(std::max(rounds.size(), round + 1));
      rounds[round].push_back(number);
    }
    return rounds;
  }

  template <typename Wanted>
  int find(Rank rank, Wanted wanted) {
    const auto found = std::find_if(gpu(rank).begin(), gpu(rank).end(), wanted);
    return found == gpu(rank).end() ? -1 : static_cast<int>(found - gpu(rank).begin());
  }

  int add_block(Rank rank, Rank send, Rank receive, int channel) {
    gpu(rank).push_back({send, receive, channel, {}, -1});
    blocks_.channels = std::max(blocks_.channels, channel + 1);
    return static_cast<int>(gpu(rank).size()) - 1;
  }

  int sender(Rank rank, Rank to, int channel) {
    const int found = find(rank, [&](const MscclBlock& b) { return b.send == to && b.channel == channel; });
    return found >= 0 ? found : add_block(rank, to, kNobody, channel);
  }

  /// A block that already sends to the value's next rank can send it as it arrives.
  int receiver(Rank rank, Rank from, int channel, Rank next) {
    int found = find(rank, [&](const MscclBlock& b) { return b.receive == from && b.channel == channel; });
    if (found < 0 && next != kNobody) {
      found = find(rank, [&](const MscclBlock& b) {
        return b.send == next && b.receive == kNobody && b.channel == channel;
      });
    }
    if (found < 0) return add_block(rank, kNobody, from, channel);
    gpu(rank)[static_cast<size_t>(found)].receive = from;
    return found;
  }

  StepPosition push(Rank rank, int block, MscclStep step) {
    MscclBlock& own = gpu(rank)[static_cast<size_t>(block)];
    step.order = ++order_;
    if (step.sends) own.last_send = static_cast<int64_t>(own.steps.size());
    own.steps.push_back(std::move(step));
    return {block, own.steps.size() - 1};
  }

  bool same_place(Rank rank, Operand a, Operand b) const {
    const auto added = [&](Operand o) { return o.kind == Kind::scratch && o.index >= plan_.scratch_chunks; };
    return added(a) || added(b) ? a == b : map_.place(rank, a) == map_.place(rank, b);
  }

  Operand new_scratch(Rank rank, uint32_t chunks) {
    uint32_t& used = blocks_.scratch[static_cast<size_t>(rank)];
    used += chunks;
    return {Kind::scratch, used - chunks};
  }

  /// The position of the operand in the memory of `rank`; a value that was not stored is stored from now on.
  Result<Operand> in_memory(size_t number, Rank rank, Operand operand) {
    if (operand.kind != Kind::value) return operand;
    const size_t maker = operand.index;
    const Move& made = plan_.moves[maker];
    if (made.to.kind != Kind::none) {
      const auto first = writer_.begin() + static_cast<ptrdiff_t>(map_.place(rank, made.to));
      if (!std::all_of(first, first + made.chunks, [&](size_t writer) { return writer == maker; })) {
        return Status(Code::invalid_argument,
                      fmt::format("move {} uses the value of move {} after its memory was overwritten; MSCCL "
                                  "can only read values from memory",
                                  number, maker));
      }
    } else if (stored_[maker].kind == Kind::none) {
      stored_[maker] = at(rank, made_[maker]).kept = new_scratch(rank, made.chunks);
    }
    return stored_[maker];
  }

  /// Whether the step that received the value can also send it: before all later sends of its block.
  bool hands_on(const Move& move) {
    if (move.from.kind != Kind::value) return false;
    const StepPosition place = made_[move.from.index];
    MscclBlock& block = gpu(move.src)[static_cast<size_t>(place.block)];
    MscclStep& step = block.steps[place.step];
    if (!step.receives || step.sends || block.last_send > static_cast<int64_t>(place.step)) return false;
    if (block.send != move.dst) {
      const auto taken = [&](const MscclBlock& b) {
        return b.send == move.dst && b.channel == block.channel;
      };
      if (block.send != kNobody || find(move.src, taken) >= 0) return false;
      block.send = move.dst;
    }
    step.sends = true;
    block.last_send = static_cast<int64_t>(place.step);
    // Without a sum, every step that passes data on also stores it.
    if (step.source.kind == Kind::none && step.kept.kind == Kind::none)
      stored_[move.from.index] = step.kept = new_scratch(move.src, move.chunks);
    return true;
  }

  Status send(size_t number) {
    const Move& move = plan_.moves[number];
    if (move.src == move.dst) return {};
    channel_[number] = move.src_lane;
    if (hands_on(move)) {
      channel_[number] = gpu(move.src)[static_cast<size_t>(made_[move.from.index].block)].channel;
      return {};
    }
    const auto from = in_memory(number, move.src, move.from);
    WEIR_TRY(from.status());
    push(move.src, sender(move.src, move.dst, move.src_lane),
         {MscclStep::Kind::message, 0, false, true, *from, {}, move.chunks, {}});
    return {};
  }

  Status arrive(size_t number) {
    const Move& move = plan_.moves[number];
    if (move.src == move.dst) return work(number);
    const auto with = in_memory(number, move.dst, move.with);
    WEIR_TRY(with.status());
    made_[number] = push(move.dst, receiver(move.dst, move.src, channel_[number], next_[number]),
                         {MscclStep::Kind::message, 0, true, false, *with, move.to, move.chunks, {}});
    return {};
  }

  void keep(size_t number) {
    const Move& move = plan_.moves[number];
    if (move.to.kind == Kind::none) return;
    stored_[number] = move.to;
    const size_t first = map_.place(move.dst, move.to);
    std::fill_n(writer_.begin() + static_cast<ptrdiff_t>(first), move.chunks, number);
  }

  Status work(size_t number) {
    const Move& move = plan_.moves[number];
    const auto from = in_memory(number, move.src, move.from);
    WEIR_TRY(from.status());
    const auto with = in_memory(number, move.dst, move.with);
    WEIR_TRY(with.status());
    int block = find(move.src, [&](const MscclBlock& b) {
      return b.send == kNobody && b.receive == kNobody && b.channel == move.src_lane;
    });
    if (block < 0) block = add_block(move.src, kNobody, kNobody, move.src_lane);
    const Operand to = move.to.kind == Kind::none ? new_scratch(move.src, move.chunks) : move.to;
    const auto add = [&](MscclStep::Kind kind, Operand source) {
      made_[number] = push(move.src, block, {kind, 0, false, false, source, to, move.chunks, {}});
    };
    // In place the result may be in the memory of one of the two operands: that one comes first.
    const bool with_first = with->kind != Kind::none && same_place(move.src, to, *with);
    const Operand first = with_first ? *with : *from, second = with_first ? *from : *with;
    if (first != to) add(MscclStep::Kind::copy, first);
    if (second.kind != Kind::none) add(MscclStep::Kind::reduce, second);
    if (move.to.kind == Kind::none) stored_[number] = to;
    return {};
  }

  /// For each chunk of memory the step that wrote it last, and the steps that have read it since.
  struct Uses {
    StepPosition writer;
    std::vector<StepPosition> readers;
  };

  void add_waits() {
    const uint32_t most = *std::max_element(blocks_.scratch.begin(), blocks_.scratch.end());
    const ir::MemoryMap map(plan_.shape, most, placement(plan_.shape));
    std::vector<Uses> uses(map.size());
    for (Rank rank = 0; rank < plan_.shape.ranks; ++rank) {
      std::vector<StepPosition> order;
      for (size_t b = 0; b < gpu(rank).size(); ++b)
        for (size_t s = 0; s < gpu(rank)[b].steps.size(); ++s) order.push_back({static_cast<int>(b), s});
      std::sort(order.begin(), order.end(),
                [&](StepPosition a, StepPosition b) { return at(rank, a).order < at(rank, b).order; });
      for (const StepPosition place : order) add_waits(rank, place, map, uses);
    }
  }

  void add_waits(Rank rank, StepPosition own, const ir::MemoryMap& map, std::vector<Uses>& uses) {
    MscclStep& step = at(rank, own);
    const auto wait = [&](StepPosition other) {
      if (other.block < 0 || other.block == own.block) return;
      const auto known = std::find_if(step.waits.begin(), step.waits.end(),
                                      [&](StepPosition w) { return w.block == other.block; });
      if (known == step.waits.end())
        step.waits.push_back(other);
      else
        known->step = std::max(known->step, other.step);
    };
    if (step.source.kind != Kind::none) {
      for (uint32_t c = 0; c < step.chunks; ++c) {
        Uses& chunk = uses[map.place(rank, step.source) + c];
        wait(chunk.writer);
        chunk.readers.push_back(own);
      }
    }
    if (step.kept.kind == Kind::none) return;
    for (uint32_t c = 0; c < step.chunks; ++c) {
      Uses& chunk = uses[map.place(rank, step.kept) + c];
      wait(chunk.writer);
      for (const StepPosition reader : chunk.readers) wait(reader);
      chunk = {own, {}};
    }
  }

  const ir::Plan& plan_;
  const ir::MemoryMap map_;
  Blocks blocks_;
  std::vector<size_t> writer_;      // index: chunk of memory; the move that wrote it last
  std::vector<StepPosition> made_;  // index: move; the step that makes its value
  std::vector<Operand> stored_;     // index: move; where its value is stored; none: nowhere
  std::vector<Rank> next_;          // index: move; the rank to which its value is passed on last
  std::vector<int> channel_;        // index: move
  size_t order_ = 0;
};

}  // namespace

Result<Blocks> blocks_of(const ir::Plan& plan) { return Assembly(plan).assemble(); }

}  // namespace weir::msccl
