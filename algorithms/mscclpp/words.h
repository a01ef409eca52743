// SPDX-License-Identifier: Apache-2.0
/// The words of an execution plan of MSCCL++, and the sizes of its buffers.
/// Tests: tests/algorithms/mscclpp_test.cc
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "algorithms/mscclpp/execution_plan.h"

namespace weir::mscclpp {

/// Index: OperationKind.
inline constexpr std::array<std::string_view, 14> kOperationWords = {
    "nop", "barrier", "put",    "pws",  "copy",  "re",          "res",
    "rre", "rres",    "signal", "wait", "flush", "sem_acquire", "sem_release"};

constexpr std::string_view word_of(OperationKind kind) { return kOperationWords[static_cast<size_t>(kind)]; }

constexpr std::string_view word_of(ChannelType type) {
  return type == ChannelType::memory ? "memory" : "port";
}

/// Empty for collectives that have no execution plans.
constexpr std::string_view word_of(Collective kind) {
  switch (kind) {
    case Collective::all_reduce: return "allreduce";
    case Collective::all_gather: return "allgather";
    case Collective::reduce_scatter: return "reducescatter";
    case Collective::all_to_all: return "alltoall";
    default: return "";
  }
}

/// How many blocks the sizes in a file count: those of the larger one of both buffers.
constexpr uint64_t size_blocks(const ir::Shape& shape) {
  return shape.kind == Collective::all_reduce ? 1 : static_cast<uint64_t>(shape.ranks);
}

/// Chunks of the input and of the output.
inline std::pair<uint64_t, uint64_t> chunks_of(const ir::Shape& shape, Rank rank) {
  return {static_cast<uint64_t>(ir::input_blocks(shape, rank)) * shape.chunks,
          static_cast<uint64_t>(ir::output_blocks(shape, rank)) * shape.chunks};
}

}  // namespace weir::mscclpp
