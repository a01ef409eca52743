// SPDX-License-Identifier: Apache-2.0
/// Small numbers in every element type, for results that are known without a library: what a test puts in and
/// expects is exact in all of them.
#pragma once

#include <nccl.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace weir::conform {

struct Type {
  ncclDataType_t type;
  const char* name;
  size_t bytes;
  int exponent;  ///< bits; 0: an integer
  int mantissa;

  bool is_float() const { return exponent > 0; }
};

inline constexpr Type kTypes[] = {
    {ncclInt8, "int8", 1, 0, 0},         {ncclUint8, "uint8", 1, 0, 0},
    {ncclInt32, "int32", 4, 0, 0},       {ncclUint32, "uint32", 4, 0, 0},
    {ncclInt64, "int64", 8, 0, 0},       {ncclUint64, "uint64", 8, 0, 0},
    {ncclFloat16, "float16", 2, 5, 10},  {ncclFloat32, "float32", 4, 8, 23},
    {ncclFloat64, "float64", 8, 11, 52}, {ncclBfloat16, "bfloat16", 2, 8, 7},
    {ncclFloat8e4m3, "e4m3", 1, 4, 3},   {ncclFloat8e5m2, "e5m2", 1, 5, 2},
};
inline constexpr const Type& kFloat32 = kTypes[7];

/// REQUIRES: value >= 0, exact in the type.
inline uint64_t encode(const Type& type, double value) {
  if (!type.is_float()) return static_cast<uint64_t>(value);
  if (value == 0) return 0;
  int power = 0;
  const double fraction = 2 * std::frexp(value, &power) - 1;  // value = (1 + fraction) * 2^(power - 1)
  const uint64_t bias = (uint64_t{1} << (type.exponent - 1)) - 1;
  const uint64_t exponent = bias + static_cast<uint64_t>(power - 1);
  return exponent << type.mantissa | static_cast<uint64_t>(std::ldexp(fraction, type.mantissa));
}

/// REQUIRES: bits of a number that is not negative, nor infinite or none.
inline double decode(const Type& type, uint64_t bits) {
  if (!type.is_float()) return static_cast<double>(bits);
  const int bias = (1 << (type.exponent - 1)) - 1;
  const auto exponent = static_cast<int>(bits >> type.mantissa);
  const auto fraction = static_cast<double>(bits & ((uint64_t{1} << type.mantissa) - 1));
  if (exponent == 0) return std::ldexp(fraction, 1 - bias - type.mantissa);
  return std::ldexp(1 + std::ldexp(fraction, -type.mantissa), exponent - bias);
}

/// Element i is of(i).
template <typename Of>
std::vector<std::byte> encoded(const Type& type, size_t count, Of of) {
  std::vector<std::byte> bytes(count * type.bytes);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = encode(type, of(i));
    std::memcpy(bytes.data() + i * type.bytes, &bits, type.bytes);
  }
  return bytes;
}

inline double element(const Type& type, const std::vector<std::byte>& bytes, size_t i) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + i * type.bytes, type.bytes);
  return decode(type, bits);
}

}  // namespace weir::conform
