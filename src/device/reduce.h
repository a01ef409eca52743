/// Element-wise work on host memory: fold, scale, divide, copy.
///
/// These definitions are the specification of every other device: each binary operation rounds to the
/// element type (to nearest, ties to even) before the next one, whatever is fused, so a fold over four
/// sources equals three folds over two, bit for bit. No contraction, no flushing of denormals.
///
/// * float16, bfloat16, float8 compute in float32 and round once per operation. float8e4m3 (the finite
///   "FN" encoding) and float8e5m2 saturate to the largest finite value on overflow; NaN stays NaN.
/// * Integers wrap. max and min of floats return the other operand where one is NaN only if the scalar
///   definition in reduce.cc does; every vector path equals the scalar definition for every input.
///
/// All functions: any alignment; `dst` may equal a source exactly, but not overlap it partly; count may be
/// 0; thread-safe; never allocate, throw or make a system call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/base/types.h"

namespace weir::device {

/// Whether the destination will be read again soon (cached) or not (streaming: non-temporal stores where
/// they pay).
enum class Traffic : uint8_t { cached, streaming };

/// dst[i] = (((src[0][i] op src[1][i]) op src[2][i]) ...). sources >= 1 (1: a copy). count in elements.
void fold(DataType type, RedOp op, void* dst, const void* const* src, int sources, size_t count,
          Traffic traffic = Traffic::cached);

/// One scalar of any element type, in that type's encoding.
struct Scalar {
  alignas(8) unsigned char bits[8];
};

/// The value `numerator / denominator` rounded once to `type`. REQUIRES: is_float(type).
Scalar ratio(DataType type, double numerator, double denominator);

/// dst[i] = src[i] * factor, rounded to the type (integers wrap).
void scale(DataType type, void* dst, const void* src, Scalar factor, size_t count);

/// dst[i] /= divisor, truncated towards zero. REQUIRES: !is_float(type), divisor > 0.
void divide(DataType type, void* dst, int64_t divisor, size_t count);

/// memcpy that may bypass the cache on the way out.
void copy(void* dst, const void* src, size_t bytes, Traffic traffic = Traffic::cached);

}  // namespace weir::device
