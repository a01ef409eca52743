/// The small floating-point formats, converted exactly: float16, bfloat16, float8 e4m3 (finite) and e5m2.
///
/// Plain integer arithmetic, independent of the processor and of its rounding mode; this is what the vector
/// paths and other devices are compared with.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace weir::device {

/// A format of 1 sign bit, kExponentBits and kMantissaBits. kFiniteOnly: no infinity, and only the code with
/// all bits set is not a number. kSaturates: too large becomes the largest finite value, not infinity.
template <typename Bits, int kExponentBits, int kMantissaBits, bool kFiniteOnly, bool kSaturates>
struct FloatFormat {
  static_assert(1 + kExponentBits + kMantissaBits == 8 * sizeof(Bits));
  using Storage = Bits;

  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kMinExponent = 1 - kBias;  // of the smallest normal number
  static constexpr Bits kSign = Bits(Bits{1} << (8 * sizeof(Bits) - 1));
  static constexpr Bits kNaN = Bits(~kSign);  // what sum and prod give
  static constexpr Bits kInfinity = Bits(((1 << kExponentBits) - 1) << kMantissaBits);  // kFiniteOnly: none
  static constexpr Bits kLargest = Bits(kFiniteOnly ? kNaN - 1 : kInfinity - 1);
  static constexpr Bits kGreatest = kFiniteOnly ? kLargest : kInfinity;  // the greatest that is a number

  static constexpr bool is_nan(Bits bits) { return Bits(bits & ~kSign) > kGreatest; }

  /// The value, exactly. NaNs give a NaN.
  static constexpr double decode(Bits bits) {
    const Bits magnitude = Bits(bits & ~kSign);
    const double sign = (bits & kSign) != 0 ? -1.0 : 1.0;
    if (is_nan(bits)) return std::numeric_limits<double>::quiet_NaN();
    if (!kFiniteOnly && magnitude == kInfinity) return sign * std::numeric_limits<double>::infinity();
    const int exponent = magnitude >> kMantissaBits;
    const auto fraction = static_cast<double>(magnitude & ((1 << kMantissaBits) - 1));
    const double ulp = power_of_two((exponent == 0 ? 1 : exponent) - kBias - kMantissaBits);
    return sign * (exponent == 0 ? fraction : fraction + (1 << kMantissaBits)) * ulp;
  }

  /// The nearest value, ties to even; overflow as the format says; NaNs give kNaN.
  static constexpr Bits encode(double value) {
    const auto raw = std::bit_cast<uint64_t>(value);
    const Bits sign = (raw >> 63) != 0 ? kSign : Bits{0};
    const int field = static_cast<int>((raw >> 52) & 0x7ff);
    const uint64_t fraction = raw & ((uint64_t{1} << 52) - 1);
    if (field == 0x7ff && fraction != 0) return kNaN;
    if (field == 0x7ff) return sign | overflow();
    if (field == 0) return sign;  // a double below 2^-1022: nearer to zero than to anything here
    const int exponent = field - 1023;
    if (exponent > kBias + 1) return sign | overflow();
    // Count the value in units of the last place it can have here.
    const int at = exponent < kMinExponent ? kMinExponent : exponent;
    const int shift = 52 - kMantissaBits + (at - exponent);
    if (shift > 54) return sign;
    const uint64_t units = shift_to_nearest(fraction | (uint64_t{1} << 52), shift);
    // A carry out of the mantissa lands in the exponent, where it belongs.
    const uint64_t code = (static_cast<uint64_t>(at - kMinExponent) << kMantissaBits) + units;
    if (code > kLargest) return sign | overflow();
    return Bits(sign | Bits(code));
  }

 private:
  static constexpr Bits overflow() { return kSaturates ? kLargest : kInfinity; }
  static constexpr double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
  }
  static constexpr uint64_t shift_to_nearest(uint64_t value, int shift) {
    const uint64_t half = uint64_t{1} << (shift - 1);
    const uint64_t rest = value & ((half << 1) - 1);
    const uint64_t whole = value >> shift;
    return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0);
  }
};

using Float16 = FloatFormat<uint16_t, 5, 10, false, false>;
using BFloat16 = FloatFormat<uint16_t, 8, 7, false, false>;
using Float8E4M3 = FloatFormat<uint8_t, 4, 3, true, true>;
using Float8E5M2 = FloatFormat<uint8_t, 5, 2, false, true>;

/// The order in which max and min compare floats of any format: an integer that grows with the value, with
/// -0 below +0, and with all NaNs at the end that loses: below everything for max, above everything for min.
/// `greatest` is the magnitude of infinity, or of the largest finite value where there is no infinity.
template <typename Bits>
constexpr std::make_signed_t<Bits> to_order(Bits bits, Bits greatest, bool for_max) {
  using Signed = std::make_signed_t<Bits>;
  constexpr Bits kMagnitude = Bits(Bits(~Bits{0}) >> 1);
  const bool negative = bits > kMagnitude;
  const Bits ascending = negative ? Bits(bits ^ kMagnitude) : bits;
  // NaNs lie outside of the numbers on both sides; shifting the line round moves both to one end.
  const Bits room = Bits(kMagnitude - greatest);
  return static_cast<Signed>(for_max ? Bits(ascending + room) : Bits(ascending - room));
}

}  // namespace weir::device
