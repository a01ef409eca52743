// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "algorithms/ir/builder.h"
#include "algorithms/ir/symbolic.h"
#include "algorithms/msccl/file.h"
#include "algorithms/msccl/file_memory.h"
#include "algorithms/msccl/lanes.h"
#include "algorithms/msccl/msccl.h"

namespace weir::msccl {
namespace {

using ir::Operand;
using Kind = Operand::Kind;

constexpr size_t kMostLanes = 1024;  // of all ranks together, because proofs take longer with more

/// index: chunk.
using Operands = std::vector<Operand>;

/// A message in flight: where its sender has it.
struct Message {
  Operands from;
  Operands kept;  ///< where `from` is in memory; none: nowhere
};

/// Whether one operand can represent all: the same value, or contiguous chunks of memory.
bool together(const Operands& chunks) {
  for (size_t c = 1; c < chunks.size(); ++c) {
    const size_t step = chunks[0].in_memory() ? c : 0;
    if (chunks[c].kind != chunks[0].kind || chunks[c].index != chunks[0].index + step) return false;
  }
  return true;
}

/// The granularity of moves: a step if its chunks are contiguous in the plan too, or each chunk of it.
enum class Grain : uint8_t { step, chunk };

/// Executes the steps of all blocks in turn, and records the moves.
class Run {
 public:
  Run(const File& file, Grain grain) : file_(file), grain_(grain), plan_(file.algorithm, file.shape) {
    for (Rank rank = 0; rank < file.shape.ranks; ++rank) {
      memory_.emplace_back(file.shape, file.one_buffer, static_cast<uint32_t>(file.scratch_chunks), rank);
      next_.emplace_back(file.gpus[static_cast<size_t>(rank)].size());
    }
  }

  Result<ir::Plan> run(const topology::Source& source) {
    for (bool moved = true; moved;) {
      moved = false;
      for (rank_ = 0; rank_ < file_.shape.ranks; ++rank_) {
        for (block_ = 0; block_ < next_[at()].size(); ++block_) {
          while (can_go()) {
            WEIR_TRY(go(source));
            ++next_[at()][block_];
            moved = true;
          }
        }
      }
    }
    WEIR_TRY(all_done(source));
    finish();
    ir::Plan plan = plan_.take();
    std::vector<size_t> lanes;
    for (const auto& gpu : file_.gpus)
      lanes.push_back(std::clamp<size_t>(gpu.size(), 1, std::max<size_t>(kMostLanes / file_.gpus.size(), 1)));
    if (!apart_) assign_lanes(plan, lanes);
    return plan;
  }

  /// Whether steps were too coarse: the plan is then invalid.
  bool too_coarse() const { return apart_; }

 private:
  using Way = std::tuple<Rank, Rank, int>;  // from, to, channel

  size_t at() const { return static_cast<size_t>(rank_); }
  const FileBlock& block() const { return file_.gpus[at()][block_]; }
  Way way_in() const { return {block().receive, rank_, block().channel}; }
  Way way_out() const { return {rank_, block().send, block().channel}; }

  bool can_go() {
    const size_t number = next_[at()][block_];
    if (number == block().steps.size()) return false;
    const FileStep& step = block().steps[number];
    if (step.wait_block >= 0 &&
        next_[at()][static_cast<size_t>(step.wait_block)] <= static_cast<size_t>(step.wait_step))
      return false;
    return !receives(step.type) || !ways_[way_in()].empty();
  }

  Status go(const topology::Source& source) {
    const FileStep& step = block().steps[next_[at()][block_]];
    switch (step.type) {
      case Type::nothing: return {};
      case Type::copy:
      case Type::reduce: work(step); return {};
      case Type::send: send(read(step.source, step.chunks)); return {};
      default: return receive(source, step);
    }
  }

  /// Makes the moves of a step; they are the values that it passes on.
  template <typename Make>
  Operands move(const Operands& from, const Operands& with, const Operands& to, Make make) {
    const auto chunks = static_cast<uint32_t>(from.size());
    if (grain_ == Grain::step) {
      apart_ = apart_ || !together(from) || !together(with) || !together(to);
      return Operands(chunks, ir::value(make(from[0], with[0], to[0], chunks)));
    }
    Operands made;
    for (uint32_t c = 0; c < chunks; ++c) made.push_back(ir::value(make(from[c], with[c], to[c], 1)));
    return made;
  }

  Operands read(BufferOffset spot, int chunks) const {
    Operands operands;
    for (int c = 0; c < chunks; ++c) operands.push_back(memory_[at()].read(spot, c));
    return operands;
  }

  Operands write(BufferOffset spot, int chunks) {
    Operands operands;
    for (int c = 0; c < chunks; ++c) operands.push_back(memory_[at()].write(spot, c));
    save_from(operands);
    return operands;
  }

  void work(const FileStep& step) {
    const Operands from = read(step.source, step.chunks);
    const Operands with = step.type == Type::reduce ? read(step.kept, step.chunks) : nothing(step);
    const Operands to = write(step.kept, step.chunks);
    move(from, with, to, [&](Operand from, Operand with, Operand to, uint32_t chunks) {
      return plan_.local(rank_, from, {with, to, chunks});
    });
  }

  static Operands nothing(const FileStep& step) { return Operands(static_cast<size_t>(step.chunks)); }

  Status receive(const topology::Source& source, const FileStep& step) {
    const Message message = std::move(ways_[way_in()].front());
    ways_[way_in()].pop_front();
    if (message.from.size() != static_cast<size_t>(step.chunks)) {
      return topology::refuse(source, step.line,
                              fmt::format("the step receives {} chunks, but GPU {} sends {}", step.chunks,
                                          block().receive, message.from.size()));
    }
    const bool sums = step.type == Type::receive_reduce || step.type == Type::reduce_send ||
                      step.type == Type::reduce_keep_send;
    const Operands with = sums ? read(step.source, step.chunks) : nothing(step);
    const Operands to = step.type == Type::reduce_send ? nothing(step) : write(step.kept, step.chunks);
    Operands made =
        move(message.from, with, to, [&](Operand from, Operand with, Operand to, uint32_t chunks) {
          return plan_.send(block().receive, rank_, from, {with, to, chunks});
        });
    if (sends(step.type)) ways_[way_out()].push_back({std::move(made), to});
    return {};
  }

  void send(Operands from) { ways_[way_out()].push_back({from, from}); }

  /// Messages in flight from memory that is about to be written go through scratch instead.
  void save_from(const Operands& written) {
    std::map<std::pair<Kind, uint32_t>, Operand> saved;
    const auto in_danger = [&](Operand kept) {
      return std::any_of(written.begin(), written.end(),
                         [&](Operand to) { return memory_[at()].overlap(kept, to); });
    };
    for (auto& [way, messages] : ways_) {
      if (std::get<0>(way) != rank_) continue;
      for (Message& message : messages) {
        for (size_t c = 0; c < message.from.size(); ++c) {
          Operand& kept = message.kept[c];
          if (!kept.in_memory() || !in_danger(kept)) continue;
          const auto [copy, is_new] = saved.try_emplace({kept.kind, kept.index});
          if (is_new) {
            copy->second = memory_[at()].new_scratch();
            plan_.local(rank_, kept, {.to = copy->second});
          }
          message.from[c] = kept = copy->second;
        }
      }
    }
  }

  Status all_done(const topology::Source& source) {
    for (rank_ = 0; rank_ < file_.shape.ranks; ++rank_) {
      for (block_ = 0; block_ < next_[at()].size(); ++block_) {
        const size_t number = next_[at()][block_];
        if (number == block().steps.size()) continue;
        const FileStep& step = block().steps[number];
        const bool waits = step.wait_block >= 0 && next_[at()][static_cast<size_t>(step.wait_block)] <=
                                                       static_cast<size_t>(step.wait_step);
        return topology::refuse(
            source, step.line,
            fmt::format(
                "deadlock: step {} of block {} of GPU {} waits for {}", number, block_, rank_,
                waits ? fmt::format("step {} of block {}", step.wait_step, step.wait_block)
                      : fmt::format("a message of GPU {} on channel {}", block().receive, block().channel)));
      }
    }
    for (const auto& [way, messages] : ways_) {
      if (messages.empty()) continue;
      return {
          Code::invalid_argument,
          fmt::format("{}: GPU {} sends {} messages on channel {} that GPU {} never receives", source.name,
                      std::get<0>(way), messages.size(), std::get<2>(way), std::get<1>(way))};
    }
    return {};
  }

  /// In one buffer, a rank's own data may be in its final position from the beginning.
  void finish() {
    uint32_t scratch = 0;
    for (rank_ = 0; rank_ < file_.shape.ranks; ++rank_) {
      for (const Cell& cell : memory_[at()].cells()) {
        if (cell.input >= 0 && cell.output >= 0 && !cell.written)
          plan_.local(rank_, ir::input(static_cast<uint32_t>(cell.input)),
                      {.to = ir::output(static_cast<uint32_t>(cell.output))});
      }
      scratch = std::max(scratch, memory_[at()].scratch_chunks());
    }
    plan_.scratch_chunks(scratch);
  }

  const File& file_;
  const Grain grain_;
  bool apart_ = false;  // a step has chunks that are not contiguous
  ir::Builder plan_;
  std::vector<FileMemory> memory_;         // index: rank
  std::vector<std::vector<size_t>> next_;  // index: rank and block; the next step
  std::map<Way, std::deque<Message>> ways_;
  Rank rank_ = 0;  // the current rank
  size_t block_ = 0;
};

}  // namespace

Result<ir::Plan> read(std::string_view text, std::string_view name) {
  const topology::Source source{std::string(name), text};
  const auto file = read_file(source);
  WEIR_TRY(file.status());
  Run by_step(*file, Grain::step);
  auto plan = by_step.run(source);
  if (by_step.too_coarse()) plan = Run(*file, Grain::chunk).run(source);
  WEIR_TRY(plan.status());
  plan->least_bytes = file->least_bytes;
  plan->most_bytes = file->most_bytes;
  return plan;
}

}  // namespace weir::msccl
