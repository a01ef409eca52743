// SPDX-License-Identifier: Apache-2.0

#include "src/device/reduce_scalar.h"

#include <cassert>
#include <cstring>

#include "src/device/arithmetic.h"

namespace weir::device {
namespace {

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
  with_type(type, [&]<typename A>(A) {
    using T = typename A::Storage;
    if constexpr (requires { A::divided(T{}, divisor); }) {
      for (size_t i = 0; i < count; ++i) store(dst, i, A::divided(load<T>(dst, i), divisor));
    }
  });
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
