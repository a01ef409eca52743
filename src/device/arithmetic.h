// SPDX-License-Identifier: Apache-2.0
/// Sum, product, maximum and minimum of one pair of elements, for every element type: the single definition
/// used by the host's loops (reduce_scalar.h) and by GPU kernels (granules.h). Its contract is in reduce.h.
///
/// An arithmetic A has A::Storage (the bits of an element, or the integer itself) and four constexpr
/// functions of two of them. Constexpr functions may be called by CUDA's (with --expt-relaxed-constexpr) and
/// HIP's device code. Compile without contraction of products and sums, and with denormals.
/// Tests: tests/device/reduce_scalar_test.cc, tests/device/reduce_test.cc
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "src/base/types.h"
#include "src/device/float_format.h"

namespace weir::device {

/// Arithmetic of integers: two's complement, wrapping.
template <typename T>
struct Integer {
  using Storage = T;
  static constexpr T sum(T a, T b) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
  static constexpr T prod(T a, T b) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
  static constexpr T max(T a, T b) { return a > b ? a : b; }
  static constexpr T min(T a, T b) { return a < b ? a : b; }
  /// a / divisor, truncated towards zero. REQUIRES: divisor > 0.
  static constexpr T divided(T a, int64_t divisor) {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    return static_cast<T>(static_cast<Wide>(a) / static_cast<Wide>(divisor));
  }
};

/// max and min of any float format, computed on its bits.
template <typename Bits, Bits kGreatest>
struct Ordered {
  using Storage = Bits;
  static constexpr Bits max(Bits a, Bits b) {
    return to_order(a, kGreatest, true) > to_order(b, kGreatest, true) ? a : b;
  }
  static constexpr Bits min(Bits a, Bits b) {
    return to_order(a, kGreatest, false) < to_order(b, kGreatest, false) ? a : b;
  }
};

/// float32 and float64: the processor's arithmetic.
template <typename T, typename Bits, Bits kInfinity>
struct Native : Ordered<Bits, kInfinity> {
  static constexpr Bits result(T value) {
    return value != value ? Bits(Bits(~Bits{0}) >> 1) : std::bit_cast<Bits>(value);
  }
  static constexpr Bits sum(Bits a, Bits b) { return result(std::bit_cast<T>(a) + std::bit_cast<T>(b)); }
  static constexpr Bits prod(Bits a, Bits b) { return result(std::bit_cast<T>(a) * std::bit_cast<T>(b)); }
};

/// Arithmetic of the small formats: one operation in float32, then rounding. A GPU's own float16 conversion
/// gives the same bits, except for the payload of NaNs.
template <typename Format, typename Bits = typename Format::Storage>
struct Small : Ordered<Bits, Format::kGreatest> {
  static constexpr float value(Bits bits) {
#if defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<Format, Float16>) {
      float wide = 0;
      asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
      return wide;
    }
#elif defined(__HIP_DEVICE_COMPILE__)
    if constexpr (std::is_same_v<Format, Float16>) return static_cast<float>(std::bit_cast<_Float16>(bits));
#endif
    return Format::to_float(bits);
  }
  static constexpr Bits rounded(float value) {
#if defined(__CUDA_ARCH__)
    if constexpr (std::is_same_v<Format, Float16>) {
      Bits bits = 0;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
      return value != value ? Format::kNaN : bits;
    }
#elif defined(__HIP_DEVICE_COMPILE__)
    if constexpr (std::is_same_v<Format, Float16>) {
      return value != value ? Format::kNaN : std::bit_cast<Bits>(static_cast<_Float16>(value));
    }
#endif
    return Format::encode(value);
  }
  static constexpr Bits sum(Bits a, Bits b) { return rounded(value(a) + value(b)); }
  static constexpr Bits prod(Bits a, Bits b) { return rounded(value(a) * value(b)); }
};

/// Calls `visit` with the arithmetic of `type`.
template <typename Visit>
constexpr void with_type(DataType type, Visit visit) {
  switch (type) {
    case DataType::int8: return visit(Integer<int8_t>{});
    case DataType::uint8: return visit(Integer<uint8_t>{});
    case DataType::int32: return visit(Integer<int32_t>{});
    case DataType::uint32: return visit(Integer<uint32_t>{});
    case DataType::int64: return visit(Integer<int64_t>{});
    case DataType::uint64: return visit(Integer<uint64_t>{});
    case DataType::float16: return visit(Small<Float16>{});
    case DataType::float32: return visit(Native<float, uint32_t, 0x7f800000u>{});
    case DataType::float64: return visit(Native<double, uint64_t, 0x7ff0000000000000u>{});
    case DataType::bfloat16: return visit(Small<BFloat16>{});
    case DataType::float8e4m3: return visit(Small<Float8E4M3>{});
    case DataType::float8e5m2: return visit(Small<Float8E5M2>{});
  }
}

}  // namespace weir::device
