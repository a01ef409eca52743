// SPDX-License-Identifier: Apache-2.0
/// Element-wise operations on host memory: fold, scale, divide, copy.
///
/// These definitions are the specification of every other device: each binary operation rounds to the
/// element type (to nearest, ties to even) before the next one, whatever is fused, so a fold over four
/// sources equals three folds over two, bit for bit. No contraction, no flushing of denormals (the caller's
/// floating-point control word must be in its default state).
///
/// * Integers wrap.
/// * sum and prod of float16, bfloat16, float8 compute in float32 and round once per operation. float16 and
///   bfloat16 overflow to infinity. float8e4m3 (the finite "FN" encoding) and float8e5m2 saturate: a result
///   beyond the largest finite value, infinity included, becomes the largest finite value with its sign.
/// * A NaN that sum or prod returns always has the same bits: all are set except the sign (0x7fffffff,
/// 0x7fff,
///   0x7f). So results depend neither on the instruction set nor on the order of the operands.
/// * max and min return one of their operands, unchanged. A number is preferred to a NaN, -0 is less than +0,
///   and two NaNs are compared by their bits (to_order in float_format.h). So both operations are commutative
///   and associative, bit for bit.
///
/// reduce_scalar.h spells this out in simple loops; every vector path equals it for every input.
///
/// All functions: any alignment; `dst` may equal a source exactly, but not overlap it partly; count may be
/// 0; thread-safe; never allocate, throw or make a system call.
/// Tests: tests/device/reduce_test.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/types.h"

namespace weir::device {

/// Which core reads the destination next.
enum class Traffic : uint8_t {
  cached,     ///< this core reads it soon
  streaming,  ///< no core reads it soon: non-temporal stores where they pay off, ordered before the function
              ///< returns
  handed,     ///< another core, which has read the same cache lines before: copies write the lines without
              ///< fetching them
};

/// dst[i] = (((src[0][i] op src[1][i]) op src[2][i]) ...). sources >= 1 (1: a copy of the bits). count in
/// elements.
void fold(DataType type, RedOp op, void* dst, const void* const* src, int sources, size_t count,
          Traffic traffic = Traffic::cached);

/// The same fold into several different destinations; the last ones are memory that other cores read. With
/// Traffic::streaming the stores bypass the cache, unless a destination is a source. sources <= kMostSources.
void fold_to_all(DataType type, RedOp op, void* const* dst, int destinations, const void* const* src,
                 int sources, size_t count, Traffic traffic);
inline constexpr int kMostSources = 64;

/// One scalar of any element type, in that type's encoding, in the first size_of(type) bytes.
struct Scalar {
  alignas(8) unsigned char bits[8];
};

/// The value `numerator / denominator`, rounded once to `type`. REQUIRES: is_float(type).
Scalar ratio(DataType type, double numerator, double denominator);

/// dst[i] = src[i] * factor, with the same product as in fold().
void scale(DataType type, void* dst, const void* src, Scalar factor, size_t count);

/// dst[i] /= divisor, truncated towards zero. REQUIRES: !is_float(type), divisor > 0.
void divide(DataType type, void* dst, int64_t divisor, size_t count);

/// memcpy whose stores may bypass the cache. `dst` may equal `src`.
void copy(void* dst, const void* src, size_t bytes, Traffic traffic = Traffic::cached);

}  // namespace weir::device
