// SPDX-License-Identifier: Apache-2.0

#include "algorithms/msccl/waits.h"

#include <algorithm>

namespace weir::msccl {
namespace {

using Kind = ir::Operand::Kind;

/// For each block how many of its steps are known to be done.
using Done = std::vector<size_t>;

/// The blocks of one GPU.
class Gpu {
 public:
  Gpu(Rank rank, const ir::MemoryMap& map, std::vector<MscclBlock>& blocks)
      : rank_(rank), map_(map), blocks_(blocks), done_(blocks.size()) {
    for (size_t b = 0; b < blocks.size(); ++b) {
      for (size_t s = 0; s < blocks[b].steps.size(); ++s) order_.push_back({static_cast<int>(b), s});
      done_[b].resize(blocks[b].steps.size());
    }
    std::sort(order_.begin(), order_.end(),
              [&](StepPosition a, StepPosition b) { return at(a).order < at(b).order; });
  }

  /// `uses` has an entry for each chunk of memory of all ranks.
  template <typename Uses>
  void add_waits(std::vector<Uses>& uses) {
    for (const StepPosition own : order_) {
      std::vector<StepPosition> before;
      MscclStep& step = at(own);
      const auto each = [&](ir::Operand operand, auto action) {
        if (operand.kind == Kind::none) return;
        const size_t first = map_.place(rank_, operand);
        for (uint32_t c = 0; c < step.chunks; ++c) action(uses[first + c]);
      };
      each(step.source, [&](Uses& chunk) {
        before.push_back(chunk.writer);
        chunk.readers.push_back(own);
      });
      each(step.kept, [&](Uses& chunk) {
        before.push_back(chunk.writer);
        before.insert(before.end(), chunk.readers.begin(), chunk.readers.end());
        chunk = {own, {}};
      });
      wait(own, before);
    }
  }

 private:
  MscclStep& at(StepPosition place) { return blocks_[static_cast<size_t>(place.block)].steps[place.step]; }
  Done& done(StepPosition place) { return done_[static_cast<size_t>(place.block)][place.step]; }

  /// The latest steps wait first: they know of most others.
  void wait(StepPosition own, std::vector<StepPosition>& before) {
    Done known = own.step > 0 ? done({own.block, own.step - 1}) : Done(blocks_.size());
    before.erase(std::remove_if(before.begin(), before.end(),
                                [&](StepPosition b) { return b.block < 0 || b.block == own.block; }),
                 before.end());
    std::sort(before.begin(), before.end(),
              [&](StepPosition a, StepPosition b) { return at(a).order > at(b).order; });
    for (const StepPosition other : before) {
      if (known[static_cast<size_t>(other.block)] > other.step) continue;
      at(own).waits.push_back(other);
      const Done& theirs = done(other);
      for (size_t b = 0; b < known.size(); ++b) known[b] = std::max(known[b], theirs[b]);
    }
    known[static_cast<size_t>(own.block)] = own.step + 1;
    done(own) = std::move(known);
  }

  const Rank rank_;
  const ir::MemoryMap& map_;
  std::vector<MscclBlock>& blocks_;
  std::vector<StepPosition> order_;
  std::vector<std::vector<Done>> done_;  // index: block and step; what is known after it
};

/// The step that wrote a chunk last, and the steps that have read it since.
struct Uses {
  StepPosition writer;
  std::vector<StepPosition> readers;
};

}  // namespace

void add_waits(const ir::Plan& plan, Blocks& blocks) {
  const uint32_t most = *std::max_element(blocks.scratch.begin(), blocks.scratch.end());
  const ir::MemoryMap map(plan.shape, most, tightest_placement(plan.shape));
  std::vector<Uses> uses(map.size());
  for (Rank rank = 0; rank < plan.shape.ranks; ++rank)
    Gpu(rank, map, blocks.gpus[static_cast<size_t>(rank)]).add_waits(uses);
}

}  // namespace weir::msccl
