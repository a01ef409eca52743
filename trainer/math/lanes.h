// SPDX-License-Identifier: Apache-2.0
/// Sixteen floats at once, for the row kernels.
///
/// Sums over a row run in sixteen lanes that are added up in one fixed order, whatever the processor: the
/// compiler splits the same operations into as many registers as needed (AVX-512: one, AVX2: two, SSE2:
/// four). With -ffp-contract=off every operation is one of IEEE 754, so that the row kernels give the same
/// bits on all processors.
///
/// Everything here must be inlined: how lanes are passed to a function differs between instruction sets.
///
/// In GPU code (gpu/device_lanes.inc) the lanes are sixteen threads with one float each: the same source and
/// the same order of sums.
#pragma once

#include <cstddef>
#include <cstdint>

// A function compiled once per instruction set; the dynamic loader selects one. Sanitizers run before it can.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define WEIR_TRAINER_CLONES [[gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define WEIR_TRAINER_CLONES
#endif

#if defined(__CUDACC__)
#define WEIR_TRAINER_INLINE __device__ __forceinline__
#else
#define WEIR_TRAINER_INLINE [[gnu::always_inline]] inline
#endif

namespace weir::trainer {

using Index = std::ptrdiff_t;  ///< counts and positions of elements

inline constexpr Index kLanes = 16;

}  // namespace weir::trainer

#if defined(__CUDACC__)
#include "trainer/math/gpu/device_lanes.inc"
#else

namespace weir::trainer {

using Lanes = float __attribute__((vector_size(64)));
using LaneBits = uint32_t __attribute__((vector_size(64)));

WEIR_TRAINER_INLINE LaneBits bits_of(Lanes lanes) { return reinterpret_cast<LaneBits>(lanes); }
WEIR_TRAINER_INLINE Lanes from_bits(LaneBits bits) { return reinterpret_cast<Lanes>(bits); }

WEIR_TRAINER_INLINE Lanes load(const float* from) {
  Lanes lanes;
  __builtin_memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

WEIR_TRAINER_INLINE void store(float* to, Lanes lanes) { __builtin_memcpy(to, &lanes, sizeof(lanes)); }

/// Loads the first `count` lanes (1 to 15) from memory; the other lanes are `rest`.
WEIR_TRAINER_INLINE Lanes load_first(const float* from, Index count, float rest) {
  float lanes[kLanes];
  for (Index lane = 0; lane < kLanes; ++lane) lanes[lane] = lane < count ? from[lane] : rest;
  return load(lanes);
}

WEIR_TRAINER_INLINE void store_first(float* to, Lanes lanes, Index count) {
  float values[kLanes];
  store(values, lanes);
  for (Index lane = 0; lane < count; ++lane) to[lane] = values[lane];
}

/// The sum of the lanes: the upper half is added to the lower half, repeatedly.
WEIR_TRAINER_INLINE float sum_of(Lanes lanes) {
  float values[kLanes];
  store(values, lanes);
  for (Index half = kLanes / 2; half > 0; half /= 2)
    for (Index lane = 0; lane < half; ++lane) values[lane] += values[lane + half];
  return values[0];
}

WEIR_TRAINER_INLINE float largest_of(Lanes lanes) {
  float values[kLanes];
  store(values, lanes);
  float largest = values[0];
  for (Index lane = 1; lane < kLanes; ++lane) largest = values[lane] > largest ? values[lane] : largest;
  return largest;
}

}  // namespace weir::trainer

#endif

namespace weir::trainer {

WEIR_TRAINER_INLINE Lanes all(float value) { return Lanes{} + value; }

WEIR_TRAINER_INLINE Lanes larger(Lanes a, Lanes b) { return a > b ? a : b; }

WEIR_TRAINER_INLINE Lanes smaller(Lanes a, Lanes b) { return a < b ? a : b; }

/// e to the power of each lane, within 2 units in the last place from -87 to 88; outside, the value at the
/// nearer limit. Reduction by ln 2 in two parts and a polynomial of degree 7 as in the Cephes library (S.
/// Moshier).
WEIR_TRAINER_INLINE Lanes exponential(Lanes x) {
  x = larger(smaller(x, all(88.0f)), all(-87.0f));
  // Adding 1.5 * 2^23 rounds to an integer, which is then in the lowest bits.
  const Lanes shifted = x * 1.44269504088896341f + 12582912.0f;
  const Lanes power = shifted - 12582912.0f;
  const Lanes r = (x - power * 0.693359375f) + power * 2.12194440e-4f;
  Lanes p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const LaneBits exponent = (bits_of(shifted) << 23) + 0x3F800000u;
  return p * from_bits(exponent);
}

}  // namespace weir::trainer
