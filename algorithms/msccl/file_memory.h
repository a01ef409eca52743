// SPDX-License-Identifier: Apache-2.0
/// The memory of a rank in the terms of a plan file whose buffers may be one, as buffers of a plan.
///
/// Values: one thread at a time. No call fails.
/// Tests: tests/algorithms/msccl_test.cc
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "algorithms/ir/builder.h"
#include "algorithms/ir/plan.h"
#include "algorithms/ir/symbolic.h"

namespace weir::msccl {

/// "i", "o" or "s" and an offset in chunks.
struct BufferOffset {
  char buffer = 'i';
  int offset = -1;
};

/// A chunk of a rank's buffers in the file's terms. In one buffer, input and output share chunks.
struct Cell {
  int input = -1;  ///< position in the plan's buffers; -1: not in it
  int output = -1;
  bool written = false;
};

/// The positions of the file's chunks in the plan, which never writes its input.
class FileMemory {
 public:
  /// `one_buffer`: input and output are the same memory; `scratch_chunks`: of the rank's scratch in the file.
  FileMemory(const ir::Shape& shape, bool one_buffer, uint32_t scratch_chunks, Rank rank)
      : has_in_place_(ir::has_in_place(shape.kind)), scratch_(scratch_chunks), used_(scratch_) {
    const int chunks = static_cast<int>(shape.chunks);
    const int inputs = ir::input_blocks(shape, rank) * chunks;
    const int outputs = ir::output_blocks(shape, rank) * chunks;
    // In place the smaller one is the rank's own block of the larger one.
    const int own = inputs == outputs || inputs == 0 || outputs == 0 ? 0 : rank * chunks;
    shift_ = inputs < outputs ? own : -own;
    input_ = one_buffer ? std::max(shift_, 0) : 0;
    output_ = one_buffer ? std::max(-shift_, 0) : inputs;
    cells_.resize(static_cast<size_t>(one_buffer ? std::max(inputs, outputs) : inputs + outputs));
    for (int c = 0; c < inputs; ++c) cells_[static_cast<size_t>(input_ + c)].input = c;
    for (int c = 0; c < outputs; ++c) cells_[static_cast<size_t>(output_ + c)].output = c;
  }

  ir::Operand read(BufferOffset spot, int chunk) const {
    if (spot.buffer == 's') return ir::scratch(static_cast<uint32_t>(spot.offset + chunk));
    const size_t number = place(spot, chunk);
    const Cell& cell = cells_[number];
    return !cell.written && cell.input >= 0 ? ir::input(static_cast<uint32_t>(cell.input)) : kept(number);
  }

  ir::Operand write(BufferOffset spot, int chunk) {
    if (spot.buffer == 's') return ir::scratch(static_cast<uint32_t>(spot.offset + chunk));
    const size_t number = place(spot, chunk);
    cells_[number].written = true;
    const ir::Operand to = kept(number);
    if (to.kind == ir::Operand::Kind::scratch) used_ = std::max(used_, to.index + 1);
    return to;
  }

  /// Whether two chunks of the plan may be the same memory.
  bool overlap(ir::Operand a, ir::Operand b) const {
    if (a == b) return true;
    if (a.kind == ir::Operand::Kind::output) std::swap(a, b);
    return has_in_place_ && a.kind == ir::Operand::Kind::input && b.kind == ir::Operand::Kind::output &&
           static_cast<int64_t>(a.index) + shift_ == static_cast<int64_t>(b.index);
  }

  /// A chunk of scratch that is used for nothing else.
  ir::Operand new_scratch() {
    const uint32_t chunk = scratch_ + static_cast<uint32_t>(cells_.size()) + saved_++;
    used_ = chunk + 1;
    return ir::scratch(chunk);
  }

  /// The number of a chunk of the input or the output; chunks that are the same memory have the same one.
  size_t place(BufferOffset spot, int chunk) const {
    return static_cast<size_t>((spot.buffer == 'i' ? input_ : output_) + spot.offset + chunk);
  }

  /// Scratch chunks of the plan: the file's chunks, those that were written into the input, and new ones.
  uint32_t scratch_chunks() const { return used_; }
  const std::vector<Cell>& cells() const { return cells_; }

 private:
  ir::Operand kept(size_t number) const {
    const Cell& cell = cells_[number];
    return cell.output >= 0 ? ir::output(static_cast<uint32_t>(cell.output))
                            : ir::scratch(scratch_ + static_cast<uint32_t>(number));
  }

  bool has_in_place_;
  int input_ = 0, output_ = 0;  // first cells of the two buffers
  int shift_ = 0;               // in place, chunk c of the input is chunk c + shift_ of the output
  uint32_t scratch_;            // scratch chunks of the file
  uint32_t used_;
  uint32_t saved_ = 0;
  std::vector<Cell> cells_;
};

}  // namespace weir::msccl
