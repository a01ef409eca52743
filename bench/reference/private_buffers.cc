// SPDX-License-Identifier: Apache-2.0

#include "bench/reference/private_buffers.h"

#include <algorithm>
#include <cstdlib>

#include "bench/reference/kernels.h"

namespace reference {

Share share_of(size_t total, int ranks, int rank) {
  const size_t lines = (total + kWide - 1) / kWide;
  const size_t all = static_cast<size_t>(ranks);
  const size_t at = static_cast<size_t>(rank);
  const size_t first = std::min(total, lines * at / all * kWide);
  return {first, std::min(total, lines * (at + 1) / all * kWide) - first};
}

size_t knob(const char* name, size_t standard) {
  const char* value = std::getenv(name);
  return value == nullptr ? standard : std::strtoull(value, nullptr, 10);
}

void PrivateBuffers::all_reduce(const float* input, float* output, size_t count) {
  static const size_t one_shot_bytes = std::min(Board::kHalfBytes, knob("REFERENCE_ONE_SHOT", 16 * 1024));
  static const size_t stream_bytes = knob("REFERENCE_STREAM", 16 << 20);
  static const size_t block =
      std::min(Board::kHalfBytes, knob("REFERENCE_BLOCK", 512 * 1024)) / sizeof(float);
  const size_t bytes = count * sizeof(float);
  if (count <= kInlineMessages * InlineMessage::kFloats) return by_inline_messages(input, output, count);
  if (bytes <= one_shot_bytes) return one_shot(input, output, count);
  const bool streams = bytes >= stream_bytes;
  for (size_t done = 0; done < count; done += block) {
    two_shot(input + done, output + done, std::min(block, count - done), streams);
  }
  if (streams) finish_streams();
}

/// Payload and flag in one cache line, so that one transfer between the cores is enough.
void PrivateBuffers::by_inline_messages(const float* input, float* output, size_t count) {
  const uint64_t round = board_.next_round();
  InlineMessage* own = board_.inline_messages(board_.rank());
  for (size_t at = 0, i = 0; at < count; at += InlineMessage::kFloats, ++i) {
    std::memcpy(own[i].payload, input + at, std::min(InlineMessage::kFloats, count - at) * sizeof(float));
    own[i].round.store(round, std::memory_order_release);
  }
  const float* from[kMostRanks];
  for (size_t at = 0, i = 0; at < count; at += InlineMessage::kFloats, ++i) {
    for (int rank = 0; rank < board_.ranks(); ++rank) {
      from[rank] = rank == board_.rank() ? input + at : board_.read(board_.inline_messages(rank)[i]);
    }
    fold(output + at, from, board_.ranks(), std::min(InlineMessage::kFloats, count - at));
  }
}

/// Every rank publishes its whole input and folds everything.
void PrivateBuffers::one_shot(const float* input, float* output, size_t count) {
  board_.next_round();
  stage(board_.half(board_.rank()), input, count);
  board_.announce();
  board_.await_all();
  const float* from[kMostRanks];
  for (int rank = 0; rank < board_.ranks(); ++rank)
    from[rank] = rank == board_.rank() ? input : board_.half(rank);
  fold(output, from, board_.ranks(), count);
}

/// One block: every rank publishes what others fold, folds its share, publishes that, and copies the other
/// shares.
void PrivateBuffers::two_shot(const float* input, float* output, size_t count, bool streams) {
  board_.next_round();
  const int self = board_.rank();
  const int ranks = board_.ranks();
  const Share own = share_of(count, ranks, self);
  const size_t after = own.first + own.count;
  float* half = board_.half(self);
  stage(half, input, own.first);
  stage(half + after, input + after, count - after);
  board_.announce();
  board_.await_all();

  const float* from[kMostRanks];
  for (int rank = 0; rank < ranks; ++rank)
    from[rank] = (rank == self ? input : board_.half(rank)) + own.first;
  fold(output + own.first, from, ranks, own.count);
  // Separate from the fold, because vector stores would first fetch the lines that peers hold.
  stage(half + own.first, output + own.first, own.count);
  board_.announce();

  for (int i = 1; i < ranks; ++i) {
    const int rank = (self + i) % ranks;
    const Share share = share_of(count, ranks, rank);
    board_.await(rank);
    const float* result = board_.half(rank) + share.first;
    streams ? stream_copy(output + share.first, result, share.count)
            : copy(output + share.first, result, share.count);
  }
}

}  // namespace reference
