// SPDX-License-Identifier: Apache-2.0
/// The small floating-point formats, converted exactly: float16, bfloat16, float8 e4m3 (finite) and e5m2.
///
/// Uses integer arithmetic and one exact product, so results do not depend on the processor or its rounding
/// mode. The vector paths are tested against this code, and GPU kernels use it.
/// Tests: tests/device/float_format_test.cc
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace weir::device {

/// A format of 1 sign bit, kExponentBits and kMantissaBits. kFiniteOnly: there is no infinity, and only the
/// code with all bits set is a NaN. kSaturates: overflow gives the largest finite value instead of infinity.
template <typename Bits, int kExponentBits, int kMantissaBits, bool kFiniteOnly, bool kSaturates>
struct FloatFormat {
  static_assert(1 + kExponentBits + kMantissaBits == 8 * sizeof(Bits));
  using Storage = Bits;

  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kMinExponent = 1 - kBias;  // exponent of the smallest normal number
  static constexpr Bits kSign = Bits(Bits{1} << (8 * sizeof(Bits) - 1));
  static constexpr Bits kNaN = Bits(~kSign);  // the NaN that sum and prod return
  static constexpr Bits kInfinity = Bits(((1 << kExponentBits) - 1) << kMantissaBits);  // not if kFiniteOnly
  static constexpr Bits kLargest = Bits(kFiniteOnly ? kNaN - 1 : kInfinity - 1);
  static constexpr Bits kGreatest = kFiniteOnly ? kLargest : kInfinity;  // greatest value but NaN

  static constexpr bool is_nan(Bits bits) { return Bits(bits & ~kSign) > kGreatest; }

  /// Converts to float exactly. NaNs give a NaN. The exponent bits are moved to their position in a float32;
  /// the result then lacks a factor that is a power of two, and multiplying by it also normalizes subnormal
  /// values.
  static constexpr float to_float(Bits bits) {
    const Bits magnitude = Bits(bits & ~kSign);
    const uint32_t sign = (bits & kSign) != 0 ? 0x80000000u : 0;
    uint32_t raw = uint32_t{magnitude} << (23 - kMantissaBits);
    if constexpr (kBias != 127) {
      raw = std::bit_cast<uint32_t>(std::bit_cast<float>(raw) * std::bit_cast<float>((254u - kBias) << 23));
      if (!kFiniteOnly && magnitude == kInfinity) raw = 0x7f800000u;
      if (magnitude > kGreatest) raw = 0x7fffffffu;
    }
    return std::bit_cast<float>(raw | sign);
  }
  static constexpr double decode(Bits bits) { return to_float(bits); }

  /// Converts a float or double to the nearest value, ties to even. Overflow saturates or gives infinity as
  /// the format defines; NaNs give kNaN.
  template <typename Float>
  static constexpr Bits encode(Float value) {
    using Raw = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
    constexpr int kDigits = sizeof(Float) == 4 ? 23 : 52;
    constexpr int kSourceBias = sizeof(Float) == 4 ? 127 : 1023;
    constexpr Raw kUnit = Raw{1} << kDigits;
    constexpr Raw kTop = Raw(~Raw{0}) >> 1;  // all bits except the sign
    constexpr Raw kInfinite = kTop ^ (kUnit - 1);
    const Raw raw = std::bit_cast<Raw>(value);
    const Bits sign = raw > kTop ? kSign : Bits{0};
    const Raw magnitude = raw & kTop;
    if (magnitude > kInfinite) return kNaN;
    const int field = static_cast<int>(magnitude >> kDigits);
    if (field - kSourceBias > kBias + 1) return Bits(sign | overflow());
    const int exponent = (field == 0 ? 1 : field) - kSourceBias;
    const Raw significand = (magnitude & (kUnit - 1)) | (field == 0 ? Raw{0} : kUnit);
    // Express the value in units of the last place that the format has at this exponent.
    const int at = exponent < kMinExponent ? kMinExponent : exponent;
    const int shift = kDigits - kMantissaBits + (at - exponent);
    if (shift > kDigits + 2) return sign;
    // A carry out of the mantissa correctly increments the exponent.
    const auto code = static_cast<Raw>((static_cast<Raw>(at - kMinExponent) << kMantissaBits) +
                                       shift_to_nearest(significand, shift));
    if (code > kLargest) return Bits(sign | overflow());
    return Bits(sign | Bits(code));
  }

 private:
  static constexpr Bits overflow() { return kSaturates ? kLargest : kInfinity; }
  template <typename Raw>
  static constexpr Raw shift_to_nearest(Raw value, int shift) {
    const Raw half = Raw{1} << (shift - 1);
    const Raw rest = value & ((half << 1) - 1);
    const Raw whole = value >> shift;
    return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0);
  }
};

using Float16 = FloatFormat<uint16_t, 5, 10, false, false>;
using BFloat16 = FloatFormat<uint16_t, 8, 7, false, false>;
using Float8E4M3 = FloatFormat<uint8_t, 4, 3, true, true>;
using Float8E5M2 = FloatFormat<uint8_t, 5, 2, false, true>;

/// Maps a float of any format to the integer that max and min compare: it increases with the value, -0 is
/// below +0, and all NaNs are at the end that is never chosen over a number: below all numbers for max, above
/// all for min. `greatest` is the magnitude of infinity, or of the largest finite value where there is no
/// infinity.
template <typename Bits>
constexpr std::make_signed_t<Bits> to_order(Bits bits, Bits greatest, bool for_max) {
  using Signed = std::make_signed_t<Bits>;
  constexpr Bits kMagnitude = Bits(Bits(~Bits{0}) >> 1);
  const bool negative = bits > kMagnitude;
  const Bits ascending = negative ? Bits(bits ^ kMagnitude) : bits;
  // The codes of NaNs lie beyond the numbers on both sides; a wrapping shift moves both groups to one end.
  const Bits room = Bits(kMagnitude - greatest);
  return static_cast<Signed>(for_max ? Bits(ascending + room) : Bits(ascending - room));
}

}  // namespace weir::device
