// SPDX-License-Identifier: Apache-2.0

#include "algorithms/mscclpp/values.h"

namespace weir::mscclpp {
namespace {

using ir::Move;
using ir::Operand;

ChunkSpan memory_span(Operand operand, uint32_t chunks) {
  const char letter = operand.kind == Operand::Kind::input    ? 'i'
                      : operand.kind == Operand::Kind::output ? 'o'
                                                              : 's';
  return {letter, -1, operand.index, chunks};
}

/// Whether the source may write the target itself. In place, the outputs of a reduce-scatter are at another
/// offset on every rank, which the executor does not know of its peers.
bool is_written_by_source(const ir::Plan& plan, const msccl::WorkOrder& order, size_t number) {
  const Move& move = plan.moves[number];
  return move.with.kind == Operand::Kind::none && move.to.in_memory() && order.needs_copy[number] == 0 &&
         order.pending[msccl::receiving(plan, number)] == 0 &&
         (plan.shape.kind != Collective::reduce_scatter || move.to.kind == Operand::Kind::scratch);
}

Operation work(OperationKind kind, std::vector<ChunkSpan> sources, ChunkSpan destination) {
  Operation operation{.kind = kind};
  operation.sources = std::move(sources);
  operation.destinations = {destination};
  return operation;
}

}  // namespace

Values values_of(const ir::Plan& plan, const msccl::WorkOrder& order) {
  Values values;
  values.scratch.assign(static_cast<size_t>(plan.shape.ranks), plan.scratch_chunks);
  for (size_t number = 0; number < plan.moves.size(); ++number) {
    const Move& move = plan.moves[number];
    const bool local = move.src == move.dst;
    const bool stays = move.to.in_memory() && order.needs_copy[number] == 0;
    ChunkSpan received{'s', -1, 0, move.chunks};
    if (!local && is_written_by_source(plan, order, number)) {
      received = memory_span(move.to, move.chunks);
    } else if (!local || !stays) {
      uint64_t& scratch = values.scratch[static_cast<size_t>(move.dst)];
      received.index = static_cast<uint32_t>(scratch);
      scratch += move.chunks;
    }
    values.received.push_back(received);
    values.kept.push_back(stays ? memory_span(move.to, move.chunks) : received);
  }
  return values;
}

ChunkSpan span_of(const Values& values, Operand operand, uint32_t chunks) {
  return operand.kind == Operand::Kind::value ? values.kept[operand.index] : memory_span(operand, chunks);
}

std::vector<Operation> arrival_of(const ir::Plan& plan, const msccl::WorkOrder& order, const Values& values,
                                  size_t number) {
  const Move& move = plan.moves[number];
  const bool local = move.src == move.dst;
  const ChunkSpan data = local ? span_of(values, move.from, move.chunks) : values.received[number];
  const ChunkSpan kept = values.kept[number];
  std::vector<Operation> operations;
  if (move.with.kind != Operand::Kind::none) {
    operations.push_back(work(OperationKind::reduce, {span_of(values, move.with, move.chunks), data}, kept));
  } else if (local || (!is_written_by_source(plan, order, number) && order.needs_copy[number] == 0 &&
                       move.to.in_memory())) {
    operations.push_back(work(OperationKind::copy, {data}, kept));
  }
  if (move.to.in_memory() && order.needs_copy[number] != 0)
    operations.push_back(work(OperationKind::copy, {kept}, memory_span(move.to, move.chunks)));
  return operations;
}

}  // namespace weir::mscclpp
