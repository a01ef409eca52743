// SPDX-License-Identifier: Apache-2.0
/// bfloat16 as 16 bits: the upper half of a float, rounded to nearest, ties to even. Pure;
/// constexpr, so that code for GPUs may call it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace weir::trainer {

constexpr uint16_t to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);  // NaN stays NaN
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

constexpr float from_bfloat16(uint16_t half) { return std::bit_cast<float>(uint32_t{half} << 16); }

}  // namespace weir::trainer
