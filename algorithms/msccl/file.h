// SPDX-License-Identifier: Apache-2.0
/// The contents of an MSCCL file, each element checked by itself.
/// Tests: tests/algorithms/msccl_test.cc
#pragma once

#include <string>
#include <vector>

#include "algorithms/ir/plan.h"
#include "algorithms/msccl/file_memory.h"
#include "src/base/status.h"
#include "topology/formats/xml.h"

namespace weir::msccl {

enum class Type : uint8_t {
  send,
  receive,
  receive_reduce,
  receive_send,
  reduce_send,
  reduce_keep_send,
  copy,
  reduce,
  nothing
};

constexpr bool receives(Type type) { return type >= Type::receive && type <= Type::reduce_keep_send; }
constexpr bool sends(Type type) {
  return type == Type::send || (type >= Type::receive_send && type <= Type::reduce_keep_send);
}

struct FileStep {
  Type type = Type::nothing;
  BufferOffset source, kept;
  int chunks = 0;
  int wait_block = -1;  ///< -1: no wait
  int wait_step = -1;
  size_t line = 0;
};

struct FileBlock {
  Rank send = -1;
  Rank receive = -1;
  int channel = 0;
  std::vector<FileStep> steps;
  size_t line = 0;
};

/// How many blocks the sizes in a file's minBytes and maxBytes count: those of all ranks for all-gather,
/// reduce-scatter and all-to-all, else one.
uint64_t blocks_in_bytes(const ir::Shape& shape);

struct File {
  std::string algorithm;
  ir::Shape shape;
  bool one_buffer = false;  ///< whether input and output are the same memory
  int scratch_chunks = 0;   ///< scratch chunks of the GPU with the most
  /// Sizes of a block, as in ir::Plan.
  uint64_t least_bytes = 0;
  uint64_t most_bytes = UINT64_MAX;
  std::vector<std::vector<FileBlock>> gpus;
};

/// Errors: as read().
Result<File> read_file(const topology::Source& source);

}  // namespace weir::msccl
