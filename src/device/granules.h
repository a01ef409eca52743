// SPDX-License-Identifier: Apache-2.0
/// Arithmetic on elements in registers. A granule is 8 bytes: one element, or several side by side. For
/// kernels, which are generic over type and operation: type and operation are selected once for all granules
/// of a call.
/// Tests: tests/exec/granules_test.cc
#pragma once

#include <cstdint>
#include <type_traits>

#include "src/device/arithmetic.h"

/// Placed before a loop, it prevents unrolling in device code, to keep the code small.
#if defined(__CUDACC__) || defined(__HIP__)
#define WEIR_ROLLED _Pragma("unroll 1")
#define WEIR_UNROLLED _Pragma("unroll")
#else
#define WEIR_ROLLED
#define WEIR_UNROLLED
#endif

namespace weir::device {

/// The operations of an arithmetic, as types.
template <typename A>
struct Summed {
  using Arithmetic = A;
  using T = typename A::Storage;
  constexpr T operator()(T a, T b) const { return A::sum(a, b); }
};
template <typename A>
struct Multiplied {
  using Arithmetic = A;
  using T = typename A::Storage;
  constexpr T operator()(T a, T b) const { return A::prod(a, b); }
};
template <typename A>
struct Greater {
  using Arithmetic = A;
  using T = typename A::Storage;
  constexpr T operator()(T a, T b) const { return A::max(a, b); }
};
template <typename A>
struct Lesser {
  using Arithmetic = A;
  using T = typename A::Storage;
  constexpr T operator()(T a, T b) const { return A::min(a, b); }
};
/// Division; the right operand is the divisor.
template <typename A>
struct Divided {
  using Arithmetic = A;
  using T = typename A::Storage;
  constexpr T operator()(T a, int64_t divisor) const { return A::divided(a, divisor); }
};

/// Whether the code of one operation is long, because small floats are converted in software.
template <typename A>
inline constexpr bool kIsLong = false;
template <typename Format>
inline constexpr bool kIsLong<Small<Format>> = true;

/// Combines each element of `a` with the element of `b` at the same position; Divided uses all of `b` as the
/// divisor.
template <typename Operation>
constexpr uint64_t by_element(uint64_t a, uint64_t b) {
  using A = typename Operation::Arithmetic;
  using T = typename A::Storage;
  using U = std::make_unsigned_t<T>;
  constexpr Operation operation;
  constexpr int kBits = 8 * sizeof(T);
  const auto at = [=](int shift) {
    const T left = static_cast<T>(static_cast<U>(a >> shift));
    if constexpr (std::is_same_v<Operation, Divided<A>>) {
      return uint64_t{static_cast<U>(operation(left, static_cast<int64_t>(b)))} << shift;
    } else {
      return uint64_t{static_cast<U>(operation(left, static_cast<T>(static_cast<U>(b >> shift))))} << shift;
    }
  };
  uint64_t result = 0;
  if constexpr (sizeof(T) == 1 && (kIsLong<A> || std::is_same_v<Operation, Divided<A>>)) {
    WEIR_ROLLED
    for (int shift = 0; shift < 64; shift += kBits) result |= at(shift);
  } else {
    WEIR_UNROLLED
    for (int shift = 0; shift < 64; shift += kBits) result |= at(shift);
  }
  return result;
}

/// Combines all granules. The code of a long operation exists once and loops over the granules.
template <typename Operation, int kGranules>
constexpr void by_granule(uint64_t (&a)[kGranules], uint64_t (&b)[kGranules]) {
  using A = typename Operation::Arithmetic;
  if constexpr (kGranules > 1 && (sizeof(typename A::Storage) < 4 || std::is_same_v<Operation, Divided<A>>)) {
    WEIR_ROLLED
    for (int i = 0; i < kGranules; ++i) {
      const uint64_t made = by_element<Operation>(a[0], b[0]);
      const uint64_t used = b[0];
      WEIR_UNROLLED
      for (int k = 0; k + 1 < kGranules; ++k) {
        a[k] = a[k + 1];
        b[k] = b[k + 1];
      }
      a[kGranules - 1] = made;
      b[kGranules - 1] = used;
    }
  } else {
    WEIR_UNROLLED
    for (int i = 0; i < kGranules; ++i) a[i] = by_element<Operation>(a[i], b[i]);
  }
}

/// Selects the operation of a type for combine(). Wrapping sums and products are the same for signed and
/// unsigned integers.
template <int kGranules, bool kProductsOnly>
struct Combining {
  RedOp op;
  uint64_t (&a)[kGranules];
  uint64_t (&b)[kGranules];
  template <typename A>
  constexpr void operator()(A) const {
    constexpr bool kWraps = !std::is_signed_v<typename A::Storage>;
    if constexpr (kWraps) {
      if (op == RedOp::prod) return by_granule<Multiplied<A>>(a, b);
    }
    if constexpr (kWraps && !kProductsOnly) {
      if (op == RedOp::sum) return by_granule<Summed<A>>(a, b);
    }
    if constexpr (!kProductsOnly) {
      if (op == RedOp::max) return by_granule<Greater<A>>(a, b);
      if (op == RedOp::min) return by_granule<Lesser<A>>(a, b);
    }
  }
};

/// The unsigned type of the same size; the enum lists it after the signed one.
constexpr DataType without_sign(DataType type) {
  return is_float(type) ? type : static_cast<DataType>(static_cast<int>(type) | 1);
}

/// a[i] = a[i] op b[i] for the elements of all granules. `b` keeps its values.
template <int kGranules>
constexpr void combine(DataType type, RedOp op, uint64_t (&a)[kGranules], uint64_t (&b)[kGranules]) {
  const bool wraps = op == RedOp::sum || op == RedOp::prod;
  with_type(wraps ? without_sign(type) : type, Combining<kGranules, false>{op, a, b});
}

/// a[i] = a[i] * b[i].
template <int kGranules>
constexpr void multiply(DataType type, uint64_t (&a)[kGranules], uint64_t (&b)[kGranules]) {
  with_type(without_sign(type), Combining<kGranules, true>{RedOp::prod, a, b});
}

/// Selects the operation of a type for divide().
template <int kGranules>
struct Dividing {
  int64_t divisor;
  uint64_t (&a)[kGranules];
  template <typename A>
  constexpr void operator()(A) const {
    if constexpr (requires { A::divided(typename A::Storage{}, divisor); }) {
      WEIR_ROLLED
      for (int i = 0; i < kGranules; ++i) {
        const uint64_t made = by_element<Divided<A>>(a[0], static_cast<uint64_t>(divisor));
        WEIR_UNROLLED
        for (int k = 0; k + 1 < kGranules; ++k) a[k] = a[k + 1];
        a[kGranules - 1] = made;
      }
    }
  }
};

/// a[i] /= divisor for integers, truncated towards zero. REQUIRES: divisor > 0.
template <int kGranules>
constexpr void divide(DataType type, uint64_t (&a)[kGranules], int64_t divisor) {
  with_type(type, Dividing<kGranules>{divisor, a});
}

/// Copies the scalar to every element of a granule.
constexpr uint64_t splat(uint64_t scalar, int element_bytes) {
  uint64_t granule = 0;
  const int bits = 8 * element_bytes;
  const uint64_t element = bits == 64 ? scalar : scalar & ((uint64_t{1} << bits) - 1);
  for (int shift = 0; shift < 64; shift += bits) granule |= element << shift;
  return granule;
}

}  // namespace weir::device
