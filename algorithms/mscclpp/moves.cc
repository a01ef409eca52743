// SPDX-License-Identifier: Apache-2.0

#include "algorithms/mscclpp/moves.h"

#include <algorithm>

#include "algorithms/msccl/lanes.h"

namespace weir::mscclpp {
namespace {

using ir::Operand;

constexpr size_t kMostLanesOfAll = 1024;  // of all ranks together, because proofs take longer with more

msccl::BufferOffset offset_of(const ChunkSpan& span) { return {span.buffer, static_cast<int>(span.index)}; }

bool contiguous(const std::vector<Operand>& chunks) {
  for (size_t c = 1; c < chunks.size(); ++c)
    if (chunks[c].kind != chunks[0].kind || chunks[c].index != chunks[0].index + c) return false;
  return true;
}

bool same_memory(const RankSpan& a, const RankSpan& b) {
  return a.rank == b.rank && a.span.buffer == b.span.buffer && a.span.index == b.span.index;
}

}  // namespace

Moves::Moves(const ExecutionPlan& plan) : plan_(plan), builder_(plan.name, plan.shape), first_(1, 0) {
  for (Rank rank = 0; rank < plan.shape.ranks; ++rank) {
    const uint64_t scratch = plan.gpus[static_cast<size_t>(rank)].scratch_chunks;
    memory_.emplace_back(plan.shape, plan.in_place, static_cast<uint32_t>(scratch), rank);
    first_.push_back(first_.back() + memory_.back().cells().size() + scratch);
  }
}

void Moves::add(OperationKind kind, std::vector<RankSpan> from, const std::vector<RankSpan>& to) {
  if (kind == OperationKind::put || kind == OperationKind::put_with_signal || kind == OperationKind::copy) {
    for (size_t i = 0; i < to.size(); ++i) move(from[i], nullptr, to[i]);
    return;
  }
  // A source that is also the target has to be read before the target is written.
  const auto target =
      std::find_if(from.begin(), from.end(), [&](auto& one) { return same_memory(one, to[0]); });
  if (target != from.end()) std::iter_swap(from.begin(), target);
  move(from[1], &from[0], to[0]);
  for (size_t i = 2; i < from.size(); ++i) move(from[i], &to[0], to[0]);
  for (size_t i = 1; i < to.size(); ++i) move(to[0], nullptr, to[i]);
}

void Moves::move(const RankSpan& from, const RankSpan* with, const RankSpan& to) {
  std::vector<Operand> sources, operands, targets;
  const auto memory_of = [&](const RankSpan& span) -> msccl::FileMemory& {
    return memory_[static_cast<size_t>(span.rank)];
  };
  const auto chunks = static_cast<int>(to.span.chunks);
  for (int c = 0; c < chunks; ++c) sources.push_back(memory_of(from).read(offset_of(from.span), c));
  for (int c = 0; c < chunks && with != nullptr; ++c)
    operands.push_back(memory_of(*with).read(offset_of(with->span), c));
  for (int c = 0; c < chunks; ++c) targets.push_back(memory_of(to).write(offset_of(to.span), c));
  const bool whole = contiguous(sources) && contiguous(operands) && contiguous(targets);
  for (size_t c = 0; c < (whole ? 1 : targets.size()); ++c) {
    const ir::Arrival arrival = {with != nullptr ? operands[c] : Operand{}, targets[c],
                                 whole ? to.span.chunks : 1};
    if (from.rank == to.rank)
      builder_.local(to.rank, sources[c], arrival);
    else
      builder_.send(from.rank, to.rank, sources[c], arrival);
  }
}

ir::Plan Moves::take() {
  uint32_t scratch = 0;
  for (size_t rank = 0; rank < memory_.size(); ++rank) {
    for (const msccl::Cell& cell : memory_[rank].cells())
      if (cell.input >= 0 && cell.output >= 0 && !cell.written)
        builder_.local(static_cast<Rank>(rank), ir::input(static_cast<uint32_t>(cell.input)),
                       {.to = ir::output(static_cast<uint32_t>(cell.output))});
    scratch = std::max(scratch, memory_[rank].scratch_chunks());
  }
  builder_.scratch_chunks(scratch);
  ir::Plan plan = builder_.take();
  const size_t most = std::clamp<size_t>(kMostLanesOfAll / memory_.size(), 1, ir::kMaxLanes);
  std::vector<size_t> lanes;
  for (const GpuBlocks& gpu : plan_.gpus) lanes.push_back(std::clamp<size_t>(gpu.blocks.size(), 1, most));
  msccl::assign_lanes(plan, lanes);
  plan.least_bytes = plan_.least_bytes;
  plan.most_bytes = plan_.most_bytes;
  return plan;
}

size_t Moves::chunk(const RankSpan& span, uint32_t number) const {
  const auto rank = static_cast<size_t>(span.rank);
  const msccl::FileMemory& memory = memory_[rank];
  return first_[rank] + (span.span.buffer == 's'
                             ? memory.cells().size() + span.span.index + number
                             : memory.place(offset_of(span.span), static_cast<int>(number)));
}

}  // namespace weir::mscclpp
