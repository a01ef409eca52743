// SPDX-License-Identifier: Apache-2.0
/// Vector kernels of float16 and float8. A float8 is computed as a float16 and then rounded again: a float16
/// has more than twice the digits, so rounding twice gives the same result as rounding once. Only for
/// processors with float16 conversion instructions (F16C, which all processors with AVX2 have).

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/device/reduce_halves.cc"
#include "hwy/foreach_target.h"
#include "src/device/reduce_loops-inl.h"
#include "src/device/reduce_order-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::device::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_SSE4

template <class DF, class V16>
HWY_INLINE hn::Vec<DF> widen(DF df, V16 half) {
  return hn::PromoteTo(df, hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), half));
}

/// Rounds to nearest, ties to even.
template <class D16, class VF>
HWY_INLINE hn::Vec<D16> narrow(D16 d16, VF value) {
  return hn::BitCast(d16, hn::DemoteTo(hn::Rebind<hwy::float16_t, D16>(), value));
}

/// One operation on float16 bits: computed in float32 and rounded once.
template <class Op, class D16, class V16 = hn::Vec<D16>>
HWY_INLINE V16 half_op(D16 d, V16 a, V16 b) {
  if constexpr (4 * hn::MaxLanes(D16()) <= HWY_MAX_BYTES) {
    const hn::Rebind<float, D16> df;
    return narrow(d, Op::apply(widen(df, a), widen(df, b)));
  } else {
    const hn::Half<D16> dh;
    const hn::Rebind<float, decltype(dh)> df;
    const auto low = Op::apply(widen(df, hn::LowerHalf(dh, a)), widen(df, hn::LowerHalf(dh, b)));
    const auto high = Op::apply(widen(df, hn::UpperHalf(dh, a)), widen(df, hn::UpperHalf(dh, b)));
    return hn::Combine(d, narrow(dh, high), narrow(dh, low));
  }
}

template <class Op>
struct Half {
  static constexpr size_t kElement = 2;
  static constexpr bool kHeavy = false;
  template <class D>
  static HWY_INLINE auto begin(D, hn::Vec<D> v) {
    return hn::BitCast(hn::Repartition<uint16_t, D>(), v);
  }
  template <class D, class State>
  static HWY_INLINE State step(D d, State state, hn::Vec<D> v) {
    return half_op<Op>(hn::Repartition<uint16_t, D>(), state, begin(d, v));
  }
  template <class D, class State>
  static HWY_INLINE hn::Vec<D> end(D d, State state) {
    const hn::Repartition<int16_t, D> d16;
    const auto value = hn::BitCast(d16, state);
    const auto nan = hn::Set(d16, 0x7fff);
    const auto is_nan = hn::Gt(hn::And(value, nan), hn::Set(d16, 0x7c00));
    return hn::BitCast(d, hn::IfThenElse(is_nan, nan, value));
  }
};

/// Two vectors of float16 bits, for the even and the odd bytes of a vector of float8.
template <class V>
struct EvenOdd {
  V even, odd;
};

/// Rounds the magnitude of float16 bits to a multiple of 2^kDrop, ties to even, at most kLargest. NaNs become
/// 0x7fff.
template <int kDrop, int16_t kLargest, class V16>
HWY_INLINE V16 round_half(V16 value) {
  const hn::DFromV<V16> du;
  const hn::RebindToSigned<decltype(du)> d;
  const auto all = hn::Set(d, 0x7fff);
  const auto raw = hn::BitCast(d, value);
  const auto magnitude = hn::And(raw, all);
  const auto odd = hn::And(hn::ShiftRight<kDrop>(magnitude), hn::Set(d, 1));
  const auto up = hn::Add(magnitude, hn::Add(odd, hn::Set(d, (1 << (kDrop - 1)) - 1)));
  const auto rounded =
      hn::Min(hn::And(up, hn::Set(d, static_cast<int16_t>(-(1 << kDrop)))), hn::Set(d, kLargest));
  const auto number = hn::Or(rounded, hn::AndNot(all, raw));
  return hn::BitCast(du, hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, 0x7c00)), all, number));
}

/// float8e5m2 is the upper half of a float16.
template <class Op>
struct E5M2 {
  static constexpr size_t kElement = 1;
  static constexpr bool kHeavy = true;
  template <class D>
  static HWY_INLINE auto begin(D, hn::Vec<D> v) {
    const hn::Repartition<uint16_t, D> d16;
    const auto raw = hn::BitCast(d16, v);
    return EvenOdd<hn::Vec<decltype(d16)>>{hn::ShiftLeft<8>(raw), hn::And(raw, hn::Set(d16, 0xff00))};
  }
  template <class D, class State>
  static HWY_INLINE State step(D d, State state, hn::Vec<D> v) {
    const hn::Repartition<uint16_t, D> d16;
    const State other = begin(d, v);
    return {round_half<8, 0x7b00>(half_op<Op>(d16, state.even, other.even)),
            round_half<8, 0x7b00>(half_op<Op>(d16, state.odd, other.odd))};
  }
  template <class D, class State>
  static HWY_INLINE hn::Vec<D> end(D d, State state) {
    const hn::Repartition<uint16_t, D> d16;
    return hn::BitCast(d, hn::Or(hn::ShiftRight<8>(state.even), hn::And(state.odd, hn::Set(d16, 0xff00))));
  }
};

/// float8e4m3 has the layout of a float16 shifted right by 7 with two exponent bits less: read as float16 it
/// is 2^8 too small, which does not matter for sums and is corrected in products.
template <class Op>
struct E4M3 {
  static constexpr size_t kElement = 1;
  static constexpr bool kHeavy = true;
  template <class D>
  static HWY_INLINE auto begin(D, hn::Vec<D> v) {
    const hn::Repartition<uint16_t, D> d16;
    const auto raw = hn::BitCast(d16, v);
    return EvenOdd<hn::Vec<decltype(d16)>>{to_half(hn::ShiftLeft<8>(raw)), to_half(raw)};
  }
  template <class D, class State>
  static HWY_INLINE State step(D d, State state, hn::Vec<D> v) {
    const hn::Repartition<uint16_t, D> d16;
    const State other = begin(d, v);
    return {round_half<7, 0x3f00>(half_op<Op>(d16, state.even, other.even)),
            round_half<7, 0x3f00>(half_op<Op>(d16, state.odd, other.odd))};
  }
  template <class D, class State>
  static HWY_INLINE hn::Vec<D> end(D d, State state) {
    return hn::BitCast(d, hn::Or(hn::ShiftRight<8>(to_code(state.even)), to_code(state.odd)));
  }

 private:
  /// The float8 in the upper byte of each lane as float16 bits.
  template <class V16>
  static HWY_INLINE V16 to_half(V16 raw) {
    const hn::DFromV<V16> du;
    const hn::RebindToSigned<decltype(du)> d;
    const auto magnitude = hn::And(hn::BitCast(d, hn::ShiftRight<1>(raw)), hn::Set(d, 0x3f80));
    const auto is_nan = hn::Eq(magnitude, hn::Set(d, 0x3f80));
    const auto half = hn::IfThenElse(is_nan, hn::Set(d, 0x7fff), magnitude);
    return hn::Or(hn::BitCast(du, half), hn::And(raw, hn::Set(du, 0x8000)));
  }
  /// The float8 in the upper byte of each lane, the lower byte zero.
  template <class V16>
  static HWY_INLINE V16 to_code(V16 half) {
    const hn::DFromV<V16> d;
    const auto sign = hn::And(half, hn::Set(d, 0x8000));
    return hn::Or(hn::And(hn::ShiftLeft<1>(half), hn::Set(d, 0x7f00)), sign);
  }
};

struct TimesE4M3 {
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::Mul(hn::Mul(a, b), hn::Set(hn::DFromV<V>(), 256.0f));
  }
};

void add_halves(Kernels& kernels) {
  add_arithmetic<Half, Plus, Times>(kernels, DataType::float16);
  add_arithmetic<E5M2, Plus, Times>(kernels, DataType::float8e5m2);
  add_arithmetic<E4M3, Plus, TimesE4M3>(kernels, DataType::float8e4m3);
  add_order<int16_t, 0x7c00>(kernels, DataType::float16);
  add_order<int8_t, 0x7c>(kernels, DataType::float8e5m2);
  add_order<int8_t, 0x7e>(kernels, DataType::float8e4m3);
}

#endif  // not HWY_SCALAR, not HWY_SSE4

}  // namespace weir::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
