// SPDX-License-Identifier: Apache-2.0
/// Runs MSCCL files as MSCCL's kernel does, with numbers for data and blocks that are fast and slow at
/// random.
///
/// Independent of the code that writes the files, and of the reader's conversion to plans. A large message is
/// sent chunk by chunk, and a channel holds two chunks, as with MSCCL's protocol Simple.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/ir/symbolic.h"
#include "algorithms/msccl/file.h"
#include "tests/algorithms/evaluator.h"

namespace weir::msccl {

/// A number that no sum of a few others is likely to hit.
inline uint64_t number_of(Rank rank, uint32_t chunk) {
  std::seed_seq seed{static_cast<uint32_t>(rank), chunk};
  uint32_t words[2];
  seed.generate(words, words + 2);
  return uint64_t{words[0]} << 32 | words[1];
}

class RuntimeModel {
 public:
  RuntimeModel(const File& file, bool in_place, uint32_t seed)
      : file_(file), shape_(file.shape), in_place_(in_place), random_(seed) {
    for (Rank rank = 0; rank < shape_.ranks; ++rank) {
      memory_.emplace_back(rank, *this);
      blocks_.emplace_back(file.gpus[static_cast<size_t>(rank)].size());
      for (Block& block : blocks_.back()) block.delay = random_() % 4;
    }
  }

  /// What went wrong; empty: nothing.
  std::string run() {
    for (int idle = 0; idle < 2;) {
      // Now and then all blocks try, so that slow ones are not taken for blocked ones.
      const bool all = idle > 0;
      bool moved = false;
      for (Rank rank = 0; rank < shape_.ranks; ++rank) {
        for (size_t b = 0; b < blocks_[at(rank)].size(); ++b) {
          const uint32_t delay = blocks_[at(rank)][b].delay;
          if (all || delay == 0 || random_() % (1u << 2 * delay) == 0) moved = advance(rank, b) || moved;
        }
      }
      idle = moved ? 0 : idle + 1;
    }
    return verdict();
  }

 private:
  struct Block {
    size_t step = 0;
    int chunk = 0;
    uint32_t delay = 0;
  };
  /// Input, output and scratch of a GPU; in place, the smaller one of the first two is part of the other.
  struct Memory {
    Memory(Rank rank, const RuntimeModel& run) {
      const auto inputs = static_cast<size_t>(ir::input_blocks(run.shape_, rank)) * run.shape_.chunks;
      const auto outputs = static_cast<size_t>(ir::output_blocks(run.shape_, rank)) * run.shape_.chunks;
      const size_t own = inputs == outputs || inputs == 0 || outputs == 0 ? 0 : at(rank) * run.shape_.chunks;
      input = run.in_place_ && inputs < outputs ? own : 0;
      output = !run.in_place_ ? inputs : outputs < inputs ? own : 0;
      scratch = run.in_place_ ? std::max(inputs, outputs) : inputs + outputs;
      cells.resize(scratch + static_cast<size_t>(run.file_.scratch_chunks));
      for (uint32_t c = 0; c < inputs; ++c) cells[input + c] = number_of(rank, c);
    }
    uint64_t& cell(BufferOffset spot, int chunk) {
      const size_t base = spot.buffer == 'i' ? input : spot.buffer == 'o' ? output : scratch;
      return cells[base + static_cast<size_t>(spot.offset + chunk)];
    }
    size_t input, output, scratch;
    std::vector<uint64_t> cells;
  };
  using Way = std::tuple<Rank, Rank, int>;

  static size_t at(Rank rank) { return static_cast<size_t>(rank); }

  bool advance(Rank rank, size_t b) {
    Block& state = blocks_[at(rank)][b];
    const FileBlock& block = file_.gpus[at(rank)][b];
    if (state.step == block.steps.size()) return false;
    const FileStep& step = block.steps[state.step];
    if (state.chunk == 0 && step.wait_block >= 0 &&
        blocks_[at(rank)][static_cast<size_t>(step.wait_block)].step <= static_cast<size_t>(step.wait_step))
      return false;
    if (step.type != Type::nothing && !move_chunk(rank, block, step, state.chunk)) return false;
    if (++state.chunk < step.chunks) return true;
    state.chunk = 0;
    ++state.step;
    return true;
  }

  bool move_chunk(Rank rank, const FileBlock& block, const FileStep& step, int chunk) {
    auto& in = ways_[{block.receive, rank, block.channel}];
    auto& out = ways_[{rank, block.send, block.channel}];
    if (receives(step.type) && in.empty()) return false;
    if (sends(step.type) && out.size() == 2) return false;
    Memory& memory = memory_[at(rank)];
    uint64_t value = 0;
    if (receives(step.type)) {
      value = in.front();
      in.pop_front();
      if (step.type != Type::receive && step.type != Type::receive_send)
        value += memory.cell(step.source, chunk);
    } else {
      value = memory.cell(step.source, chunk);
      if (step.type == Type::reduce) value += memory.cell(step.kept, chunk);
    }
    if (step.kept.offset >= 0) memory.cell(step.kept, chunk) = value;
    if (sends(step.type)) out.push_back(value);
    return true;
  }

  std::string verdict() {
    for (Rank rank = 0; rank < shape_.ranks; ++rank)
      for (size_t b = 0; b < blocks_[at(rank)].size(); ++b)
        if (const size_t step = blocks_[at(rank)][b].step; step < file_.gpus[at(rank)][b].steps.size())
          return fmt::format("block {} of GPU {} hangs in step {}", b, rank, step);
    for (Rank rank = 0; rank < shape_.ranks; ++rank) {
      const auto outputs = static_cast<uint32_t>(ir::output_blocks(shape_, rank)) * shape_.chunks;
      for (uint32_t c = 0; c < outputs; ++c)
        if (memory_[at(rank)].cell({'o', 0}, static_cast<int>(c)) !=
            algorithms::defined_output<uint64_t>(shape_, rank, c, number_of))
          return fmt::format("chunk {} of the output of GPU {} is wrong", c, rank);
    }
    return "";
  }

  const File& file_;
  const ir::Shape& shape_;
  const bool in_place_;
  std::mt19937 random_;
  std::vector<Memory> memory_;              // index: GPU
  std::vector<std::vector<Block>> blocks_;  // index: GPU and block
  std::map<Way, std::deque<uint64_t>> ways_;
};

/// What MSCCL's parser would refuse, or its kernel could not run; empty: nothing.
inline std::string beyond_limits(const File& file) {
  for (const auto& gpu : file.gpus) {
    if (gpu.size() > 64) return fmt::format("{} blocks", gpu.size());
    std::map<int, int> senders, receivers;  // by channel
    for (const FileBlock& block : gpu) {
      if (block.channel >= 32) return fmt::format("channel {}", block.channel);
      if (block.send >= 0 && ++senders[block.channel] > 32) return "more than 32 senders on a channel";
      if (block.receive >= 0 && ++receivers[block.channel] > 32) return "more than 32 receivers on a channel";
      bool chain = false;  // steps without operation are followed by one that waits
      for (const FileStep& step : block.steps) {
        if (step.chunks > 71) return fmt::format("a step of {} chunks", step.chunks);
        if (step.source.offset > 32767 || step.kept.offset > 32767) return "an offset of more than 16 bits";
        if (chain && step.wait_block < 0) return "a chain of waits without an operation";
        chain = step.type == Type::nothing;
      }
      if (chain) return "a last step without an operation";
    }
  }
  return "";
}

/// Whether each step for which another one waits says that it is awaited.
inline std::string awaited_without_notice(const std::string& text) {
  std::map<std::tuple<int, int, int>, bool> notices;  // by GPU, block and step
  std::vector<std::tuple<int, int, int>> awaited;
  int gpu = -1, block = -1;
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text.substr(begin, end - begin);
    const auto value = [&](const std::string& name) {
      const size_t found = line.find(" " + name + "=\"");
      return found == std::string::npos ? -1 : std::stoi(line.substr(found + name.size() + 3));
    };
    if (line.find("<gpu") != std::string::npos) gpu = value("id");
    if (line.find("<tb") != std::string::npos) block = value("id");
    if (line.find("<step") == std::string::npos) continue;
    notices[{gpu, block, value("s")}] = value("hasdep") == 1;
    if (value("depid") >= 0) awaited.emplace_back(gpu, value("depid"), value("deps"));
  }
  for (const auto& [of_gpu, of_block, step] : awaited)
    if (!notices[{of_gpu, of_block, step}])
      return fmt::format("step {} of block {} of GPU {} is awaited and does not say so", step, of_block,
                         of_gpu);
  return "";
}

}  // namespace weir::msccl
