// SPDX-License-Identifier: Apache-2.0
/// All-reduce (sum) between processes that can address each other's buffers: without staging, each rank folds
/// its share of all inputs into all outputs.
#pragma once

#include <cstddef>

#include "bench/reference/board.h"
#include "bench/reference/private_buffers.h"

namespace reference {

/// Memory of all ranks at the same addresses; each rank allocates from its own part, all in the same order.
class Arena {
 public:
  /// Called before the ranks are forked.
  Arena(int ranks, size_t bytes_per_rank)
      : bytes_((bytes_per_rank + kHugePage - 1) / kHugePage * kHugePage),
        memory_(map_shared(bytes_ * static_cast<size_t>(ranks))) {}

  float* allocate(int rank, size_t bytes);
  /// Address at `rank` that corresponds to `own` at `own_rank`.
  template <typename T>
  T* at(int rank, T* own, int own_rank) const {
    return own + static_cast<ptrdiff_t>(bytes_ / sizeof(T)) * (rank - own_rank);
  }

 private:
  static constexpr size_t kHugePage = 2 << 20;
  size_t bytes_;
  char* memory_;
  size_t used_ = 0;
};

class SharedBuffers {
 public:
  SharedBuffers(Board& board, const Arena& arena) : board_(board), arena_(arena), copying_(board) {}
  /// REQUIRES: `input` and `output` are from the arena.
  void all_reduce(const float* input, float* output, size_t count);

 private:
  void direct(const float* input, float* output, size_t count);
  void direct_streaming(const float* input, float* output, size_t count);

  Board& board_;
  const Arena& arena_;
  PrivateBuffers copying_;  ///< used for sizes for which one stage with a copy is faster than two without
};

}  // namespace reference
