// SPDX-License-Identifier: Apache-2.0
// The loops are written so that compilers turn them into vectors at any instruction set: no branches, no
// calls, conversions by adding constants.

#include "src/core/quantized/block_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace weir::core {
namespace {

constexpr size_t kScaleBytes = sizeof(float);
constexpr uint32_t kMagnitude = 0x7fffffff;
constexpr uint32_t kInfinity = 0x7f800000;
constexpr float kLeastMagnitude = 0x1p-100F;  ///< of a block; below it 1 / scale would overflow

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

struct Int8 {
  static constexpr float kMost = 127;
  static uint8_t code(float value) {
    // Adding 1.5 * 2^23 rounds to an integer, ties to even, and leaves it in the lowest bits.
    return static_cast<uint8_t>(bits_of(value + 0x1.8p23F));
  }
  static float value(uint8_t code) { return static_cast<float>(static_cast<int8_t>(code)); }
};

/// e4m3: 4 bits of exponent with bias 7, subnormal numbers are multiples of 2^-9, no infinity.
struct Float8 {
  static constexpr float kMost = 448;
  static constexpr uint32_t kRebias = 127 - 7;
  static uint8_t code(float value) {
    const uint32_t bits = bits_of(value) & kMagnitude;
    const uint32_t normal = ((bits + 0x7ffff + (bits >> 20 & 1)) >> 20) - (kRebias << 3);
    // Adding 2^14 rounds to multiples of 2^-9; eight of them are the smallest normal number.
    const uint32_t subnormal = bits_of(std::bit_cast<float>(bits) + 0x1p14F);
    const uint32_t magnitude = bits < (kRebias + 1) << 23 ? subnormal : normal;
    return static_cast<uint8_t>((magnitude & 0x7f) | (bits_of(value) >> 24 & 0x80));
  }
  static float value(uint8_t code) {
    const uint32_t magnitude = code & 0x7fU;
    const uint32_t normal = (magnitude << 20) + (kRebias << 23);
    const uint32_t subnormal = bits_of(static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-9F);
    const uint32_t sign = (code & 0x80U) << 24;
    return std::bit_cast<float>((magnitude < 8 ? subnormal : normal) | sign);
  }
};

/// As an integer, which orders infinities and NaNs above numbers.
uint32_t largest_magnitude(std::span<const float> values) {
  uint32_t largest = 0;
  for (const float value : values) largest = std::max(largest, bits_of(value) & kMagnitude);
  return largest;
}

template <typename Code>
void encode_block(std::span<const float> values, std::byte* to) {
  // The largest scale of which kMost times is still finite.
  constexpr float kMostScale = 0x1.fffffcp127F / Code::kMost;
  const uint32_t largest = largest_magnitude(values);
  const float magnitude = std::bit_cast<float>(largest);
  float scale = std::min(magnitude / Code::kMost, kMostScale);
  float inverse = 1.0F / scale;
  const bool finite = largest < kInfinity;
  if (!finite || magnitude < kLeastMagnitude) {
    scale = finite ? 0 : std::numeric_limits<float>::quiet_NaN();
    inverse = 0;
  }
  std::memcpy(to, &scale, kScaleBytes);
  auto* const codes = reinterpret_cast<uint8_t*>(to + kScaleBytes);
  if (inverse == 0) {
    std::memset(codes, 0, values.size());  // also where a value is infinite: times 0 it would be no number
    return;
  }
  for (size_t at = 0; at < values.size(); ++at) codes[at] = Code::code(values[at] * inverse);
}

template <typename Code, bool kAdds>
void decode_block(const std::byte* from, std::span<float> values) {
  float scale = 0;
  std::memcpy(&scale, from, kScaleBytes);
  const auto* const codes = reinterpret_cast<const uint8_t*>(from + kScaleBytes);
  for (size_t at = 0; at < values.size(); ++at) {
    const float value = Code::value(codes[at]) * scale;
    values[at] = kAdds ? values[at] + value : value;
  }
}

/// Calls act(block, its encoded bytes).
template <typename Value, typename Byte, typename Act>
void for_blocks(std::span<Value> values, Byte* bytes, Act act) {
  while (!values.empty()) {
    const size_t count = std::min(values.size(), kBlockElements);
    act(values.first(count), bytes);
    values = values.subspan(count);
    bytes += kScaleBytes + count;
  }
}

using Words = std::array<uint32_t, 4>;
constexpr size_t kDrawn = 8;  ///< numbers of 16 bits in Words

/// Philox4x32-10.
Words philox(Words counter, uint64_t seed) {
  std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * counter[0];
    const uint64_t second = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
               static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// The bits above the lowest 16, or one more with the probability that these are of 2^16.
uint16_t to_bfloat16(float value, uint32_t random) {
  const uint32_t bits = bits_of(value);
  if ((bits & kMagnitude) >= kInfinity)
    return static_cast<uint16_t>(bits >> 16 | ((bits & kMagnitude) > kInfinity ? 0x40 : 0));
  return static_cast<uint16_t>((bits + random) >> 16);
}

void encode_bfloat16(std::span<const float> values, const RandomPlace& random, std::byte* to) {
  for (size_t at = 0; at < values.size();) {
    const uint64_t place = random.position + at;
    const uint64_t draw = place / kDrawn;
    const Words words = philox(
        {static_cast<uint32_t>(draw), static_cast<uint32_t>(draw >> 32), random.stream, 0}, random.seed);
    const size_t end = std::min(values.size(), at + kDrawn - place % kDrawn);
    for (size_t number = place % kDrawn; at < end; ++at, ++number) {
      const uint16_t half = to_bfloat16(values[at], words[number / 2] >> (number % 2 * 16) & 0xffff);
      std::memcpy(to + 2 * at, &half, sizeof half);
    }
  }
}

template <bool kAdds>
void decode_bfloat16(const std::byte* from, std::span<float> values) {
  for (size_t at = 0; at < values.size(); ++at) {
    uint16_t half = 0;
    std::memcpy(&half, from + 2 * at, sizeof half);
    const float value = std::bit_cast<float>(uint32_t{half} << 16);
    values[at] = kAdds ? values[at] + value : value;
  }
}

template <bool kAdds>
void decode_any(BlockFormat format, const std::byte* from, std::span<float> values) {
  switch (format) {
    case BlockFormat::int8:
      return for_blocks(values, from,
                        [](auto block, const std::byte* bytes) { decode_block<Int8, kAdds>(bytes, block); });
    case BlockFormat::float8:
      return for_blocks(values, from, [](auto block, const std::byte* bytes) {
        decode_block<Float8, kAdds>(bytes, block);
      });
    case BlockFormat::bfloat16: return decode_bfloat16<kAdds>(from, values);
  }
}

size_t unpadded_bytes(BlockFormat format, size_t count) {
  if (format == BlockFormat::bfloat16) return 2 * count;
  return count + (count + kBlockElements - 1) / kBlockElements * kScaleBytes;
}

}  // namespace

size_t encoded_bytes(BlockFormat format, size_t count) {
  return (unpadded_bytes(format, count) + kScaleBytes - 1) / kScaleBytes * kScaleBytes;
}

void encode(BlockFormat format, std::span<const float> values, const RandomPlace& random, std::byte* to) {
  const size_t used = unpadded_bytes(format, values.size());
  std::fill(to + used, to + encoded_bytes(format, values.size()), std::byte{0});
  switch (format) {
    case BlockFormat::int8: return for_blocks(values, to, encode_block<Int8>);
    case BlockFormat::float8: return for_blocks(values, to, encode_block<Float8>);
    case BlockFormat::bfloat16: return encode_bfloat16(values, random, to);
  }
}

void decode(BlockFormat format, const std::byte* from, std::span<float> values) {
  decode_any<false>(format, from, values);
}

void decode_add(BlockFormat format, const std::byte* from, std::span<float> values) {
  decode_any<true>(format, from, values);
}

void round(BlockFormat format, std::span<const float> values, RandomPlace random, std::span<float> rounded) {
  std::array<std::byte, kScaleBytes*(kBlockElements + 1)> encoded;  // a block in any format
  for (size_t at = 0; at < values.size(); at += kBlockElements) {
    const size_t count = std::min(values.size() - at, kBlockElements);
    encode(format, values.subspan(at, count), random, encoded.data());
    decode(format, encoded.data(), rounded.subspan(at, count));
    random.position += count;
  }
}

}  // namespace weir::core
