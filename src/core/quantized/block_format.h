// SPDX-License-Identifier: Apache-2.0
/// Arrays of fp32 in fewer bytes: int8 or fp8 (e4m3) with a scale per block, or bf16 by stochastic rounding.
/// weir/quantized.h has the bounds of the errors.
///
/// A block of int8 or fp8 is its scale, a float, followed by a byte per element, so the beginning of an array
/// is encoded alike whatever follows. Results do not depend on the processor. Pure.
/// Tests: tests/core/quantized/block_format_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::core {

enum class BlockFormat : uint8_t { int8, float8, bfloat16 };

/// Elements that share a scale.
inline constexpr size_t kBlockElements = 128;

/// The random numbers of stochastic rounding: those of one key, from one position on.
struct RandomPlace {
  uint64_t seed = 0;
  uint32_t stream = 0;    ///< streams of one seed share no numbers
  uint64_t position = 0;  ///< that of the first element
};

/// Bytes of `count` encoded elements; a multiple of 4.
size_t encoded_bytes(BlockFormat format, size_t count);
/// Writes encoded_bytes(values.size()) bytes. Only bfloat16 uses random numbers.
void encode(BlockFormat format, std::span<const float> values, const RandomPlace& random, std::byte* to);
/// Reads values.size() elements.
void decode(BlockFormat format, const std::byte* from, std::span<float> values);
/// Adds the elements to `values` in fp32.
void decode_add(BlockFormat format, const std::byte* from, std::span<float> values);
/// What decode() makes of what encode() writes; `rounded` has the size of `values` and may be the same.
void round(BlockFormat format, std::span<const float> values, RandomPlace random, std::span<float> rounded);

}  // namespace weir::core
