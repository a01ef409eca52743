// SPDX-License-Identifier: Apache-2.0

#include "bench/reference/shared_buffers.h"

#include <algorithm>

#include "bench/reference/kernels.h"

namespace reference {

float* Arena::allocate(int rank, size_t bytes) {
  constexpr size_t kPage = 4096;
  bytes = (bytes + kPage - 1) / kPage * kPage;
  if (used_ + bytes > bytes_) {
    std::fprintf(stderr, "reference: the arena is too small for %zu more bytes\n", bytes);
    std::exit(1);
  }
  char* memory = memory_ + bytes_ * static_cast<size_t>(rank) + used_;
  used_ += bytes;
  return reinterpret_cast<float*>(memory);
}

void SharedBuffers::all_reduce(const float* input, float* output, size_t count) {
  static const size_t direct_bytes = knob("REFERENCE_DIRECT", board_.crowded() ? 16 * 1024 : 2 * 1024);
  static const size_t stream_bytes = knob("REFERENCE_STREAM", 16 << 20);
  const size_t bytes = count * sizeof(float);
  if (bytes < direct_bytes) return copying_.all_reduce(input, output, count);
  board_.announce();
  board_.await_all();
  if (bytes < stream_bytes) {
    direct(input, output, count);
  } else {
    direct_streaming(input, output, count);
  }
  board_.announce();
  board_.await_all();
}

/// Folds this rank's share in pieces that fit into the first-level cache, and copies each piece to all
/// outputs.
void SharedBuffers::direct(const float* input, float* output, size_t count) {
  static const size_t tile = knob("REFERENCE_TILE", 16 * 1024) / sizeof(float);
  const int self = board_.rank();
  const int ranks = board_.ranks();
  const Share own = share_of(count, ranks, self);
  const float* from[kMostRanks];
  for (size_t at = own.first; at < own.first + own.count; at += tile) {
    const size_t now = std::min(tile, own.first + own.count - at);
    for (int rank = 0; rank < ranks; ++rank) from[rank] = arena_.at(rank, input, self) + at;
    fold(output + at, from, ranks, now);
    for (int i = 1; i < ranks; ++i) stage(arena_.at((self + i) % ranks, output, self) + at, output + at, now);
  }
}

/// The same for buffers that are larger than the caches: all outputs are written past the caches.
void SharedBuffers::direct_streaming(const float* input, float* output, size_t count) {
  const int self = board_.rank();
  const int ranks = board_.ranks();
  const Share own = share_of(count, ranks, self);
  const float* from[kMostRanks];
  float* to[kMostRanks];
  for (int rank = 0; rank < ranks; ++rank) {
    from[rank] = arena_.at(rank, input, self) + own.first;
    to[rank] = arena_.at(rank, output, self) + own.first;
  }
  stream_fold(to, ranks, from, ranks, own.count);
  finish_streams();
}

}  // namespace reference
