// SPDX-License-Identifier: Apache-2.0

#include "src/device/reduce.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>

#include "src/device/reduce_kernels.h"
#include "src/device/reduce_scalar.h"

namespace weir::device {
namespace {

/// Below this, waiting for non-temporal stores to drain (about 0.3 us) costs more than they save.
constexpr size_t kStreamingBytes = 16384;

constexpr size_t kTileBytes = 16384;

/// From this size on, a string move is faster than vector stores to cache lines that another core holds
/// (docs/reference-notes.md).
constexpr size_t kStringMoveBytes = 512;

#if defined(__x86_64__)
/// Whether "rep movsb" is fast (ERMS).
bool has_fast_string_moves() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (ebx >> 9 & 1) != 0;
}
const bool string_moves = has_fast_string_moves();

void move_string(void* dst, const void* src, size_t bytes) {
  asm volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(bytes) : : "memory");
}
#else
constexpr bool string_moves = false;
void move_string(void* dst, const void* src, size_t bytes) { std::memcpy(dst, src, bytes); }
#endif

/// The kernels to use; null until their first use.
std::atomic<const Kernels*> chosen_kernels{nullptr};

const Kernels* best_kernels() {
  const Kernels* best = chosen_kernels.load(std::memory_order_acquire);
  if (best == nullptr) {
    best = supported_kernels().data();
    chosen_kernels.store(best, std::memory_order_release);
  }
  return best;
}

/// Whether non-temporal stores pay off: not if a destination is also a source, because its cache lines are in
/// the cache already.
bool can_stream(void* const* dst, int destinations, const void* const* src, int sources, size_t bytes) {
  if (bytes < kStreamingBytes || sources < 2) return false;
  return std::none_of(dst, dst + destinations,
                      [&](const void* to) { return std::find(src, src + sources, to) != src + sources; });
}

/// The uncommon cases: one source, many sources, streaming, and the first call.
[[gnu::noinline]] void fold_otherwise(DataType type, RedOp op, void* dst, const void* const* src, int sources,
                                      size_t count, Traffic traffic) {
  assert(sources >= 1);
  const size_t bytes = count * size_of(type);
  if (sources == 1) return copy(dst, src[0], bytes, traffic);
  const FoldKernels& kernels = best_kernels()->at(type, op);
  auto* const to = static_cast<uint8_t*>(dst);
  const auto* const from = reinterpret_cast<const uint8_t* const*>(src);
  if (traffic == Traffic::streaming && can_stream(&dst, 1, src, sources, bytes)) {
    return kernels.streaming(&to, 1, from, sources, bytes);
  }
  (sources == 2 ? kernels.pair : kernels.many)(to, from, sources, bytes);
}

}  // namespace

void fold(DataType type, RedOp op, void* dst, const void* const* src, int sources, size_t count,
          Traffic traffic) {
  const Kernels* const best = chosen_kernels.load(std::memory_order_acquire);
  if (best == nullptr || sources != 2 || traffic != Traffic::cached) {
    return fold_otherwise(type, op, dst, src, sources, count, traffic);
  }
  best->at(type, op).pair(static_cast<uint8_t*>(dst), reinterpret_cast<const uint8_t* const*>(src), 2,
                          count * size_of(type));
}

void fold_to_all(DataType type, RedOp op, void* const* dst, int destinations, const void* const* src,
                 int sources, size_t count, Traffic traffic) {
  const size_t bytes = count * size_of(type);
  if (traffic == Traffic::streaming && can_stream(dst, destinations, src, sources, bytes)) {
    return best_kernels()->at(type, op).streaming(reinterpret_cast<uint8_t* const*>(dst), destinations,
                                                  reinterpret_cast<const uint8_t* const*>(src), sources,
                                                  bytes);
  }
  // A tile stays in the first-level cache until it is copied to all destinations.
  const void* from[kMostSources];
  for (size_t at = 0; at < bytes; at += kTileBytes) {
    const size_t size = std::min(kTileBytes, bytes - at);
    for (int k = 0; k < sources; ++k) from[k] = static_cast<const std::byte*>(src[k]) + at;
    std::byte* const sum = static_cast<std::byte*>(dst[0]) + at;
    fold(type, op, sum, from, sources, size / size_of(type));
    for (int k = 1; k < destinations; ++k) {
      copy(static_cast<std::byte*>(dst[k]) + at, sum, size, Traffic::handed);
    }
  }
}

void scale(DataType type, void* dst, const void* src, Scalar factor, size_t count) {
  best_kernels()->scale[static_cast<int>(type)](static_cast<uint8_t*>(dst), static_cast<const uint8_t*>(src),
                                                factor, count * size_of(type));
}

void divide(DataType type, void* dst, int64_t divisor, size_t count) {
  assert(!is_float(type) && divisor > 0);
  scalar::divide(type, dst, divisor, count);
}

void copy(void* dst, const void* src, size_t bytes, Traffic traffic) {
  if (bytes == 0 || dst == src) return;
  if (traffic == Traffic::streaming && bytes >= kStreamingBytes) {
    return best_kernels()->streaming_copy(static_cast<uint8_t*>(dst), static_cast<const uint8_t*>(src),
                                          bytes);
  }
  if (traffic == Traffic::handed && string_moves && bytes >= kStringMoveBytes)
    return move_string(dst, src, bytes);
  std::memcpy(dst, src, bytes);
}

}  // namespace weir::device
