// SPDX-License-Identifier: Apache-2.0
/// float16, bfloat16 and the two 8-bit floats as plain values, converted from and to double.
///
/// Independent of the library's conversions, so that an error in those is detected.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace weir::perf {

/// Layout: sign, `exponent_bits`, `mantissa_bits`. `finite`: the type has no infinities; only all ones is
/// NaN.
template <typename Bits, int exponent_bits, int mantissa_bits, bool finite = false>
struct SmallFloat {
  static constexpr int kMantissaBits = mantissa_bits;
  static constexpr int kBias = (1 << (exponent_bits - 1)) - 1;
  static constexpr int kExponentMask = (1 << exponent_bits) - 1;
  static constexpr int kMantissaMask = (1 << mantissa_bits) - 1;
  static constexpr int kMinExponent = 1 - kBias;  ///< exponent of the smallest normal number
  static constexpr int kMaxExponent = kExponentMask - kBias - (finite ? 0 : 1);

  Bits bits;

  static SmallFloat from(double value);
  explicit operator double() const;
};

using Half = SmallFloat<uint16_t, 5, 10>;
using BFloat16 = SmallFloat<uint16_t, 8, 7>;
using Float8E4M3 = SmallFloat<uint8_t, 4, 3, true>;
using Float8E5M2 = SmallFloat<uint8_t, 5, 2>;

template <typename T>
inline constexpr bool kIsSmallFloat = false;
template <typename Bits, int exponent_bits, int mantissa_bits, bool finite>
inline constexpr bool kIsSmallFloat<SmallFloat<Bits, exponent_bits, mantissa_bits, finite>> = true;

template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsSmallFloat<T>;

/// Rounds to nearest, ties to even; values beyond the largest finite one become infinity, or NaN if the type
/// has none.
template <typename Bits, int exponent_bits, int mantissa_bits, bool finite>
SmallFloat<Bits, exponent_bits, mantissa_bits, finite>
SmallFloat<Bits, exponent_bits, mantissa_bits, finite>::from(double value) {
  uint64_t wide = std::bit_cast<uint64_t>(value);
  uint64_t sign = (wide >> 63) << (exponent_bits + mantissa_bits);
  int exponent = static_cast<int>(wide >> 52 & 0x7ff) - 1023;
  constexpr int kDropped = 52 - mantissa_bits;
  constexpr uint64_t kTop = static_cast<uint64_t>(kExponentMask) << mantissa_bits;
  if (std::isnan(value)) return {static_cast<Bits>(sign | kTop | kMantissaMask)};
  uint64_t magnitude;
  if (exponent >= kMinExponent) {
    uint64_t rounding = (uint64_t{1} << (kDropped - 1)) - 1 + (wide >> kDropped & 1);
    uint64_t rebased = (wide & ~(uint64_t{1} << 63)) - (static_cast<uint64_t>(1023 - kBias) << 52);
    magnitude = (rebased + rounding) >> kDropped;
  } else {
    double in_smallest = std::ldexp(std::fabs(value), mantissa_bits - kMinExponent);
    magnitude = static_cast<uint64_t>(std::nearbyint(in_smallest));
  }
  constexpr uint64_t kLargest = finite ? kTop + kMantissaMask - 1 : kTop - 1;
  if (magnitude > kLargest) magnitude = kLargest + 1;
  return {static_cast<Bits>(sign | magnitude)};
}

template <typename Bits, int exponent_bits, int mantissa_bits, bool finite>
SmallFloat<Bits, exponent_bits, mantissa_bits, finite>::operator double() const {
  int exponent = bits >> mantissa_bits & kExponentMask;
  int mantissa = bits & kMantissaMask;
  double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(mantissa, kMinExponent - mantissa_bits);
  if (exponent == kExponentMask && (!finite || mantissa == kMantissaMask))
    return !finite && mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                                    : std::numeric_limits<double>::quiet_NaN();
  uint64_t wide = static_cast<uint64_t>(exponent - kBias + 1023) << 52 | static_cast<uint64_t>(mantissa)
                                                                             << (52 - mantissa_bits);
  return sign * std::bit_cast<double>(wide);
}

}  // namespace weir::perf
