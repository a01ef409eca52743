// SPDX-License-Identifier: Apache-2.0
/// All-reduce (sum) between processes with private buffers: every byte is copied through the board.
#pragma once

#include <cstddef>

#include "bench/reference/board.h"

namespace reference {

class PrivateBuffers {
 public:
  explicit PrivateBuffers(Board& board) : board_(board) {}
  void all_reduce(const float* input, float* output, size_t count);

 private:
  void by_inline_messages(const float* input, float* output, size_t count);
  void one_shot(const float* input, float* output, size_t count);
  void two_shot(const float* input, float* output, size_t count, bool streams);

  Board& board_;
};

/// Elements [first, first + count) of `total` that `rank` folds; boundaries are at cache lines.
struct Share {
  size_t first;
  size_t count;
};
Share share_of(size_t total, int ranks, int rank);

/// A number from the environment, to experiment with other block sizes.
size_t knob(const char* name, size_t standard);

inline constexpr int kMostRanks = 64;

}  // namespace reference
