// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/pattern.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace weir::perf {
namespace {

/// Number of elements generated at a time; a power of two, so that a block never crosses a multiple of 2^32.
constexpr size_t kBlock = 2048;

/// A code represents a factor, so that a product of floats is a sum of codes: sign in bit 16, a factor of 1.5
/// in bit 28, and the exponent plus one in the low bits.
constexpr int kSignBit = 16;
constexpr int kHalfMoreBit = 28;

uint32_t mixed(uint32_t x) {
  x ^= x >> 16;
  x *= 0x85ebca6bU;
  x ^= x >> 13;
  x *= 0xc2b2ae35U;
  return x ^ x >> 16;
}

uint32_t draw(uint32_t index, uint32_t key) { return mixed(index * 0x9e3779b1U ^ key); }

uint32_t key_of(uint64_t seed, uint32_t rank, uint32_t high) {
  return mixed(static_cast<uint32_t>(seed) ^ mixed(static_cast<uint32_t>(seed >> 32) + rank * 0x27d4eb2fU) ^
               mixed(high + 0x165667b1U));
}

int ceil_log2(int n) { return n <= 1 ? 0 : std::bit_width(static_cast<unsigned>(n - 1)); }

bool is_signed(ncclDataType_t type) { return type != ncclUint8 && type != ncclUint32 && type != ncclUint64; }

/// Number of factors of two (or one half) for which products in any order stay normal numbers.
int exponent_room(ncclDataType_t type) {
  return with_type(type, []<typename T>(std::type_identity<T>) {
    if constexpr (kIsSmallFloat<T>)
      return std::min(T::kMaxExponent - 1, -T::kMinExponent);
    else
      return std::min(std::numeric_limits<T>::max_exponent, -std::numeric_limits<T>::min_exponent) - 2;
  });
}

template <typename T>
double smallest() {
  if constexpr (kIsSmallFloat<T>)
    return std::ldexp(1.0, T::kMinExponent - T::kMantissaBits);
  else
    return std::numeric_limits<T>::denorm_min();
}

}  // namespace

Pattern::Pattern(TypeInfo type, uint64_t seed) : type_(type), seed_(seed) {}

Pattern::Pattern(TypeInfo type, Op op, int ranks, uint64_t seed)
    : type_(type), seed_(seed), op_(op), ranks_(ranks), members_(ranks), negative_(is_signed(type.type)) {
  const bool is_float = type.type >= ncclFloat16;
  if (op == Op::max || op == Op::min) {
    kind_ = op == Op::max ? Kind::maximum : Kind::minimum;
    mask_ = (int64_t{1} << std::min(type.precision, 24)) - 1;
  } else if (op == Op::prod && is_float) {
    kind_ = Kind::float_product;
    members_ = std::min(ranks, exponent_room(type.type));
  } else if (op == Op::prod) {
    kind_ = Kind::integer_product;
  } else {
    kind_ = Kind::sum;
    int room = type.precision - (op == Op::mulsum ? 1 : 0);
    int bits = std::min(room - ceil_log2(ranks), 20);
    if (bits < 1) members_ = 1 << (room - 1);
    mask_ = (int64_t{1} << std::max(bits, 1)) - 1;
    exact_ =
        op != Op::avg || !is_float || (std::has_single_bit(static_cast<unsigned>(ranks)) && ranks <= 512);
    if (!exact_) negative_ = false;  // no cancellation, so that the error bound is relative to the result
  }
}

/// The C++ type with which elements are read; data that is only moved is compared bit by bit.
template <typename F>
decltype(auto) Pattern::with_layout(F&& f) const {
  if (kind_ != Kind::bits) return with_type(type_.type, f);
  switch (type_.size) {
    case 1: return f(std::type_identity<uint8_t>());
    case 2: return f(std::type_identity<uint16_t>());
    case 4: return f(std::type_identity<uint32_t>());
    default: return f(std::type_identity<uint64_t>());
  }
}

int64_t Pattern::code(uint32_t index, int rank, uint32_t rank_key, uint32_t index_key) const {
  uint32_t x = draw(index, rank_key);
  if (kind_ == Kind::bits) return static_cast<int64_t>(uint64_t{mixed(~x)} << 32 | x);
  if (kind_ == Kind::integer_product) return x | 1;
  // Members are consecutive ranks from a start that differs between elements.
  int distance = 0;
  if (members_ < ranks_ || kind_ == Kind::float_product) {
    distance =
        rank - static_cast<int>(uint64_t{draw(index, index_key)} * static_cast<uint32_t>(ranks_) >> 32);
    distance += distance < 0 ? ranks_ : 0;
  }
  bool member = distance < members_;
  if (kind_ == Kind::float_product) {
    uint32_t exponent = member ? (x & 0xff) % 3 : 1;
    uint32_t half_more = distance == 0 ? x >> 8 & 1 : 0;
    return static_cast<int64_t>(exponent | (x >> 31) << kSignBit | half_more << kHalfMoreBit);
  }
  if (!member) return 0;
  int64_t magnitude = x & mask_;
  return negative_ && x >> 31 ? -magnitude : magnitude;
}

void Pattern::codes(int64_t* out, int rank, uint64_t first, size_t count) const {
  const auto high = static_cast<uint32_t>(first >> 32);
  const uint32_t rank_key = key_of(seed_, static_cast<uint32_t>(rank), high);
  const uint32_t index_key = key_of(seed_, 0xffffffffU, high);
  const auto low = static_cast<uint32_t>(first);
  // The most common kind without branches, so that the compiler vectorizes it.
  if (kind_ == Kind::sum && members_ == ranks_) {
    const auto mask = static_cast<int32_t>(mask_);
    const int32_t sign = negative_ ? -1 : 0;
    for (size_t i = 0; i < count; ++i) {
      uint32_t x = draw(low + static_cast<uint32_t>(i), rank_key);
      int32_t flip = static_cast<int32_t>(x) >> 31 & sign;
      out[i] = ((static_cast<int32_t>(x) & mask) ^ flip) - flip;
    }
    return;
  }
  for (size_t i = 0; i < count; ++i) out[i] = code(low + static_cast<uint32_t>(i), rank, rank_key, index_key);
}

void Pattern::fold(int64_t* into, const int64_t* with, int rank, size_t count) const {
  if (kind_ == Kind::sum || kind_ == Kind::float_product) {
    const int doubled = op_ == Op::mulsum && mulsum_factor(rank) == 2;
    for (size_t i = 0; i < count; ++i) into[i] += with[i] << doubled;
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    switch (kind_) {
      case Kind::maximum: into[i] = std::max(into[i], with[i]); break;
      case Kind::minimum: into[i] = std::min(into[i], with[i]); break;
      default:
        into[i] = static_cast<int64_t>(static_cast<uint64_t>(into[i]) * static_cast<uint64_t>(with[i]));
    }
  }
}

void Pattern::reduced_codes(int64_t* out, uint64_t first, size_t count) const {
  int64_t next[kBlock];
  codes(out, 0, first, count);
  for (int rank = 1; rank < ranks_; ++rank) {
    codes(next, rank, first, count);
    fold(out, next, rank, count);
  }
}

/// The value of a code of a reducible pattern over the inputs of `contributions` ranks.
template <typename T>
double Pattern::value(int64_t code, int contributions) const {
  if (kind_ != Kind::float_product) return static_cast<double>(code);
  int exponent = static_cast<int>(code & ((1 << kSignBit) - 1)) - contributions;
  double magnitude = std::ldexp(code >> kHalfMoreBit & 1 ? 1.5 : 1.0, exponent);
  return code >> kSignBit & 1 ? -magnitude : magnitude;
}

void Pattern::input(void* out, int rank, uint64_t first, size_t count) const {
  with_layout([&]<typename T>(std::type_identity<T>) {
    auto* to = static_cast<unsigned char*>(out);
    int64_t drawn[kBlock];
    for (size_t at = 0; at < count;) {
      size_t block = std::min(count - at, kBlock - (first + at) % kBlock);
      codes(drawn, rank, first + at, block);
      for (size_t i = 0; i < block; ++i, to += sizeof(T)) {
        T element;
        if constexpr (kIsSmallFloat<T>)
          element = T::from(value<T>(drawn[i], 1));
        else if constexpr (kIsFloat<T>)
          element = static_cast<T>(value<T>(drawn[i], 1));
        else
          element = static_cast<T>(drawn[i]);
        std::memcpy(to, &element, sizeof(T));
      }
      at += block;
    }
  });
}

template <typename T>
bool Pattern::matches(T got, int64_t code, bool reduced) const {
  const bool average = reduced && op_ == Op::avg && kind_ == Kind::sum;
  if constexpr (!kIsFloat<T>) {
    return got == static_cast<T>(average ? code / ranks_ : code);
  } else {
    double expected = value<T>(code, reduced ? ranks_ : 1);
    auto number = static_cast<double>(got);
    if (!average) return number == expected;
    expected /= ranks_;
    if (exact_) return number == expected;
    // One rounding each for 1/n, for the multiplication by it and for every addition, and one in reserve.
    double roundings = members_ + 2;
    double bound = expected * std::ldexp(roundings, -type_.precision) * 1.01 + roundings * smallest<T>();
    return std::fabs(number - expected) <= bound;
  }
}

size_t Pattern::wrong(const void* got, int rank, uint64_t first, size_t count) const {
  return with_layout([&]<typename T>(std::type_identity<T>) {
    const auto* from = static_cast<const unsigned char*>(got);
    int64_t expected[kBlock];
    size_t wrong = 0;
    for (size_t at = 0; at < count;) {
      size_t block = std::min(count - at, kBlock - (first + at) % kBlock);
      if (rank == kReduced)
        reduced_codes(expected, first + at, block);
      else
        codes(expected, rank, first + at, block);
      for (size_t i = 0; i < block; ++i, from += sizeof(T)) {
        T element;
        std::memcpy(&element, from, sizeof(T));
        wrong += !matches(element, expected[i], rank == kReduced);
      }
      at += block;
    }
    return wrong;
  });
}

}  // namespace weir::perf
