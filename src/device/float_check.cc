// SPDX-License-Identifier: Apache-2.0

#include "src/device/float_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "src/device/float_format.h"

namespace weir::device {
namespace {

/// Elements between two decisions: enough for vectors, and soon over where the first element is bad.
constexpr size_t kBlock = 2048;

template <typename Bits>
Bits load(const std::byte* from) {
  Bits bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

/// So few elements that to look at one after the other takes less time than to begin with vectors.
constexpr size_t kFew = 16;

template <typename Bits>
size_t first_one_by_one(const std::byte* data, size_t count, Bits mask) {
  for (size_t i = 0; i < count; ++i)
    if ((load<Bits>(data + i * sizeof(Bits)) & mask) == mask) return i;
  return count;
}

/// Whether an element has all bits of `mask`. The loop has no branches: compilers make vectors of it.
template <typename Bits>
bool any_with(const std::byte* data, size_t count, Bits mask) {
  Bits found = 0;
  for (size_t i = 0; i < count; ++i)
    found = Bits(found | Bits((load<Bits>(data + i * sizeof(Bits)) & mask) == mask ? ~Bits{0} : Bits{0}));
  return found != 0;
}

/// The first element with all bits of `mask`, or `count`.
template <typename Bits>
size_t first_with(const std::byte* data, size_t count, Bits mask) {
  if (count <= kFew) return first_one_by_one(data, count, mask);
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t here = std::min(kBlock, count - begin);
    const std::byte* const block = data + begin * sizeof(Bits);
    if (any_with(block, here, mask)) return begin + first_one_by_one(block, here, mask);
  }
  return count;
}

/// The bits that are all set in every NaN and every infinity, and in nothing else.
constexpr uint64_t mask_of(DataType type) {
  switch (type) {
    case DataType::float16: return Float16::kInfinity;
    case DataType::bfloat16: return BFloat16::kInfinity;
    case DataType::float32: return 0x7f800000;
    case DataType::float64: return 0x7ff0'0000'0000'0000;
    case DataType::float8e4m3: return Float8E4M3::kNaN;
    case DataType::float8e5m2: return Float8E5M2::kInfinity;
    default: return 0;
  }
}

uint64_t bits_of(DataType type, const std::byte* element) {
  switch (size_of(type)) {
    case 1: return load<uint8_t>(element);
    case 2: return load<uint16_t>(element);
    case 4: return load<uint32_t>(element);
    default: return load<uint64_t>(element);
  }
}

const char* name_of(DataType type) {
  switch (type) {
    case DataType::float16: return "float16";
    case DataType::bfloat16: return "bfloat16";
    case DataType::float32: return "float32";
    case DataType::float64: return "float64";
    case DataType::float8e4m3: return "float8e4m3";
    default: return "float8e5m2";
  }
}

}  // namespace

size_t index_of_nan_or_inf(DataType type, const void* data, size_t count) {
  const uint64_t mask = mask_of(type);
  if (mask == 0) return count;
  const auto* const bytes = static_cast<const std::byte*>(data);
  switch (size_of(type)) {
    case 1: return first_with(bytes, count, static_cast<uint8_t>(mask));
    case 2: return first_with(bytes, count, static_cast<uint16_t>(mask));
    case 4: return first_with(bytes, count, static_cast<uint32_t>(mask));
    default: return first_with(bytes, count, mask);
  }
}

std::string nan_or_inf_text(DataType type, const void* element) {
  const uint64_t bits = bits_of(type, static_cast<const std::byte*>(element));
  const uint64_t sign = uint64_t{1} << (8 * size_of(type) - 1);
  const bool infinite = (bits & ~sign) == mask_of(type) && type != DataType::float8e4m3;
  const char* const what = !infinite ? "NaN" : (bits & sign) != 0 ? "-inf" : "inf";
  return fmt::format("{} ({} {:#0{}x})", what, name_of(type), bits, 2 + 2 * size_of(type));
}

}  // namespace weir::device
