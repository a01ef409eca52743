// SPDX-License-Identifier: Apache-2.0
/// The three kinds of memory access of the references: fold (vector stores), stage (stores that take
/// ownership of a cache line without fetching it), stream (stores that bypass the cache).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace reference {

/// 16 floats at any address.
typedef float Wide __attribute__((vector_size(64), aligned(4), may_alias));
inline constexpr size_t kWide = sizeof(Wide) / sizeof(float);

/// Size in bytes above which `rep movsb` is faster than vector stores into lines that a peer has read.
inline constexpr size_t kStageBytes = 512;

inline Wide load(const float* from) { return *reinterpret_cast<const Wide*>(from); }
inline void store(float* to, Wide value) { *reinterpret_cast<Wide*>(to) = value; }

/// Stores past the cache. REQUIRES: `to` is aligned to 64 bytes. Ordered by finish_streams().
inline void stream(float* to, Wide value) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, (__m512)value);
#elif defined(__SSE__)
  for (size_t i = 0; i < kWide; i += 4)
    _mm_stream_ps(to + i, _mm_set_ps(value[i + 3], value[i + 2], value[i + 1], value[i]));
#else
  store(to, value);
#endif
}

inline void finish_streams() {
#if defined(__SSE__)
  _mm_sfence();
#endif
}

inline void copy(float* to, const float* from, size_t count) {
  size_t i = 0;
  for (; i + kWide <= count; i += kWide) store(to + i, load(from + i));
  for (; i < count; ++i) to[i] = from[i];
}

/// Copies into memory that peers read.
inline void stage(float* to, const float* from, size_t count) {
#if defined(__x86_64__)
  if (count * sizeof(float) >= kStageBytes) {
    size_t bytes = count * sizeof(float);
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
    return;
  }
#endif
  copy(to, from, count);
}

inline void stream_copy(float* to, const float* from, size_t count) {
  size_t i = 0;
  for (; i < count && reinterpret_cast<uintptr_t>(to + i) % sizeof(Wide) != 0; ++i) to[i] = from[i];
  for (; i + kWide <= count; i += kWide) stream(to + i, load(from + i));
  for (; i < count; ++i) to[i] = from[i];
}

/// to[k][i] = from[0][i] + from[1][i] + ... for all `targets` k, past the cache. REQUIRES: all targets have
/// the same position in a cache line.
inline void stream_fold(float* const* to, int targets, const float* const* from, int sources, size_t count) {
  const auto plain = [&](size_t i) {
    float sum = from[0][i];
    for (int k = 1; k < sources; ++k) sum += from[k][i];
    for (int k = 0; k < targets; ++k) to[k][i] = sum;
  };
  size_t i = 0;
  for (; i < count && reinterpret_cast<uintptr_t>(to[0] + i) % sizeof(Wide) != 0; ++i) plain(i);
  for (; i + kWide <= count; i += kWide) {
    Wide sum = load(from[0] + i);
    for (int k = 1; k < sources; ++k) sum += load(from[k] + i);
    for (int k = 0; k < targets; ++k) stream(to[k] + i, sum);
  }
  for (; i < count; ++i) plain(i);
}

/// to[i] = from[0][i] + from[1][i] + ..., added in this order; kSources 0: `sources` sources.
template <int kSources>
void fold_of(float* to, const float* const* from, int sources, size_t count) {
  const int all = kSources > 0 ? kSources : sources;
  size_t i = 0;
  for (; i + kWide <= count; i += kWide) {
    Wide sum = load(from[0] + i);
    for (int k = 1; k < all; ++k) sum += load(from[k] + i);
    store(to + i, sum);
  }
  for (; i < count; ++i) {
    float sum = from[0][i];
    for (int k = 1; k < all; ++k) sum += from[k][i];
    to[i] = sum;
  }
}

inline void fold(float* to, const float* const* from, int sources, size_t count) {
  switch (sources) {
    case 2: return fold_of<2>(to, from, sources, count);
    case 4: return fold_of<4>(to, from, sources, count);
    case 8: return fold_of<8>(to, from, sources, count);
    default: return fold_of<0>(to, from, sources, count);
  }
}

}  // namespace reference
