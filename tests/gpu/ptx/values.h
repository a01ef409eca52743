// SPDX-License-Identifier: Apache-2.0
/// Values of PTX in translated kernels: registers as bits of another type, and the arithmetic that C++ does
/// not have or does not define. Tests: tests/gpu/ptx/lanes_test.cc
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace weir::ptx {

/// A register's bits as a value of another type; integers are widened or cut.
template <typename To, typename From>
inline To as(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    return static_cast<To>(value);
  } else {
    To result{};
    std::memcpy(&result, &value, sizeof(To) < sizeof(From) ? sizeof(To) : sizeof(From));
    return result;
  }
}

template <typename Register, typename T>
inline void put(Register& to, T value) {
  to = as<Register>(value);
}

/// The kernel's argument, whose memory nobody else writes.
template <typename T>
inline T argument_at(uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof(T));
  return value;
}

template <bool kRemainder, typename T>
inline T divide(T value, T by) {
  if (by == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>) {
    if (by == -1) return kRemainder ? T{0} : static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(value));
  }
  return static_cast<T>(kRemainder ? value % by : value / by);
}

/// Of numbers and NaN it is the number, as in PTX.
template <typename T>
inline T minimum(T a, T b) {
  if (a != a) return b;
  return b < a ? b : a;
}
template <typename T>
inline T maximum(T a, T b) {
  if (a != a) return b;
  return b > a ? b : a;
}

template <typename T>
inline T shift_left(T value, uint32_t by) {
  return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<uint64_t>(value) << by);
}
template <typename T>
inline T shift_right(T value, uint32_t by) {
  if (by < 8 * sizeof(T)) return static_cast<T>(value >> by);
  return std::is_signed_v<T> ? static_cast<T>(value >> (8 * sizeof(T) - 1)) : T{0};
}

inline float from_half(uint16_t bits) { return static_cast<float>(as<_Float16>(bits)); }
inline uint16_t to_half(float value) { return as<uint16_t>(static_cast<_Float16>(value)); }
inline float saturate(float value) { return value >= 1 ? 1.0f : value > 0 ? value : 0.0f; }

inline float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
inline double multiply_add(double a, double b, double c) { return std::fma(a, b, c); }
/// Rounds towards minus infinity.
inline float multiply_add_down(float a, float b, float c) {
  const double exact = double{a} * double{b} + double{c};
  const float near = static_cast<float>(exact);
  return double{near} > exact ? std::nextafter(near, -INFINITY) : near;
}
inline float reciprocal(float value) { return 1.0f / value; }
/// Of doubles the GPU's own may be an approximation, which code refines.
inline double reciprocal(double value) { return 1.0 / value; }
inline float square_root(float value) { return std::sqrt(value); }
/// The GPU's own is an approximation, with an error of 2 units in the last place.
inline float power_of_two(float value) { return std::exp2(value); }

/// prmt: byte i of the result is the byte of `low` and `high` that nibble i of `choice` names, or its sign.
inline uint32_t permute(uint32_t low, uint32_t high, uint32_t choice) {
  const uint64_t both = uint64_t{high} << 32 | low;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t nibble = choice >> (4 * i);
    uint32_t byte = both >> (8 * (nibble & 7)) & 0xff;
    if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}
/// bfe: `bits` bits from bit `at` on; of a signed type the last of them is the sign.
template <typename T>
inline T extract_bits(T from, uint32_t at, uint32_t bits) {
  const uint32_t all = 8 * sizeof(T);
  if (bits == 0) return T{0};
  if (at >= all) return shift_right(from, all);
  const uint32_t above = bits >= all - at ? 0 : all - at - bits;
  return shift_right(shift_left(from, above), above + at);
}
/// bfi: `bits` low bits of `from` in `into`, from bit `at` on.
inline uint64_t insert_bits(uint64_t from, uint64_t into, uint32_t at, uint32_t bits) {
  if (at >= 64) return into;
  const uint64_t mask = (bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1) << at;
  return (into & ~mask) | (from << at & mask);
}

}  // namespace weir::ptx
