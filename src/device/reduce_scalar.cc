#include "src/device/reduce_scalar.h"

#include <cassert>
#include <cstring>

#include "src/device/float_format.h"

namespace weir::device {
namespace {

/// Integers: two's complement, wrapping.
template <typename T>
struct Integer {
  using Storage = T;
  static T sum(T a, T b) { return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
  static T prod(T a, T b) { return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
  static T max(T a, T b) { return a > b ? a : b; }
  static T min(T a, T b) { return a < b ? a : b; }
};

/// max and min of any float format, on its bits.
template <typename Bits, Bits kGreatest>
struct Ordered {
  static Bits max(Bits a, Bits b) {
    return to_order(a, kGreatest, true) > to_order(b, kGreatest, true) ? a : b;
  }
  static Bits min(Bits a, Bits b) {
    return to_order(a, kGreatest, false) < to_order(b, kGreatest, false) ? a : b;
  }
};

/// float32 and float64: the processor's arithmetic.
template <typename T, typename Bits, Bits kInfinity>
struct Native : Ordered<Bits, kInfinity> {
  using Storage = Bits;
  static Bits result(T value) {
    return value != value ? Bits(Bits(~Bits{0}) >> 1) : std::bit_cast<Bits>(value);
  }
  static Bits sum(Bits a, Bits b) { return result(std::bit_cast<T>(a) + std::bit_cast<T>(b)); }
  static Bits prod(Bits a, Bits b) { return result(std::bit_cast<T>(a) * std::bit_cast<T>(b)); }
};

/// The small formats: one operation in float32, then rounded.
template <typename Format, typename Bits = typename Format::Storage>
struct Small : Ordered<Bits, Format::kGreatest> {
  using Storage = Bits;
  static float value(Bits bits) { return static_cast<float>(Format::decode(bits)); }
  static Bits sum(Bits a, Bits b) { return Format::encode(value(a) + value(b)); }
  static Bits prod(Bits a, Bits b) { return Format::encode(value(a) * value(b)); }
};

/// Calls `visit` with the arithmetic of `type`.
template <typename Visit>
void with_type(DataType type, Visit visit) {
  switch (type) {
    case DataType::int8: return visit(Integer<int8_t>{});
    case DataType::uint8: return visit(Integer<uint8_t>{});
    case DataType::int32: return visit(Integer<int32_t>{});
    case DataType::uint32: return visit(Integer<uint32_t>{});
    case DataType::int64: return visit(Integer<int64_t>{});
    case DataType::uint64: return visit(Integer<uint64_t>{});
    case DataType::float16: return visit(Small<Float16>{});
    case DataType::float32: return visit(Native<float, uint32_t, 0x7f800000u>{});
    case DataType::float64: return visit(Native<double, uint64_t, 0x7ff0000000000000u>{});
    case DataType::bfloat16: return visit(Small<BFloat16>{});
    case DataType::float8e4m3: return visit(Small<Float8E4M3>{});
    case DataType::float8e5m2: return visit(Small<Float8E5M2>{});
  }
}

template <typename T>
T load(const void* base, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void store(void* base, size_t index, T value) {
  std::memcpy(static_cast<char*>(base) + index * sizeof(T), &value, sizeof(T));
}

template <typename T, typename Combine>
void fold_with(void* dst, const void* const* src, int sources, size_t count, Combine combine) {
  for (size_t i = 0; i < count; ++i) {
    T value = load<T>(src[0], i);
    for (int k = 1; k < sources; ++k) value = combine(value, load<T>(src[k], i));
    store(dst, i, value);
  }
}

template <typename T>
void divide_with(void* dst, int64_t divisor, size_t count) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  for (size_t i = 0; i < count; ++i) {
    store(dst, i, static_cast<T>(static_cast<Wide>(load<T>(dst, i)) / static_cast<Wide>(divisor)));
  }
}

}  // namespace

namespace scalar {

void fold(DataType type, RedOp op, void* dst, const void* const* src, int sources, size_t count) {
  with_type(type, [&]<typename A>(A) {
    using T = typename A::Storage;
    switch (op) {
      case RedOp::sum: return fold_with<T>(dst, src, sources, count, A::sum);
      case RedOp::prod: return fold_with<T>(dst, src, sources, count, A::prod);
      case RedOp::max: return fold_with<T>(dst, src, sources, count, A::max);
      case RedOp::min: return fold_with<T>(dst, src, sources, count, A::min);
    }
  });
}

void scale(DataType type, void* dst, const void* src, Scalar factor, size_t count) {
  with_type(type, [&]<typename A>(A) {
    using T = typename A::Storage;
    const T by = load<T>(factor.bits, 0);
    for (size_t i = 0; i < count; ++i) store(dst, i, A::prod(load<T>(src, i), by));
  });
}

void divide(DataType type, void* dst, int64_t divisor, size_t count) {
  assert(!is_float(type) && divisor > 0);
  switch (type) {
    case DataType::int8: return divide_with<int8_t>(dst, divisor, count);
    case DataType::uint8: return divide_with<uint8_t>(dst, divisor, count);
    case DataType::int32: return divide_with<int32_t>(dst, divisor, count);
    case DataType::uint32: return divide_with<uint32_t>(dst, divisor, count);
    case DataType::int64: return divide_with<int64_t>(dst, divisor, count);
    case DataType::uint64: return divide_with<uint64_t>(dst, divisor, count);
    default: return;
  }
}

}  // namespace scalar

Scalar ratio(DataType type, double numerator, double denominator) {
  assert(is_float(type));
  const double value = numerator / denominator;
  Scalar result{};
  switch (type) {
    case DataType::float16: store(result.bits, 0, Float16::encode(value)); break;
    case DataType::float32: store(result.bits, 0, static_cast<float>(value)); break;
    case DataType::float64: store(result.bits, 0, value); break;
    case DataType::bfloat16: store(result.bits, 0, BFloat16::encode(value)); break;
    case DataType::float8e4m3: store(result.bits, 0, Float8E4M3::encode(value)); break;
    case DataType::float8e5m2: store(result.bits, 0, Float8E5M2::encode(value)); break;
    default: break;
  }
  return result;
}

}  // namespace weir::device
