// SPDX-License-Identifier: Apache-2.0
/// Vector kernels of float32, float64 and bfloat16.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/device/reduce_floats.cc"
#include "hwy/foreach_target.h"
#include "src/device/reduce_loops-inl.h"
#include "src/device/reduce_order-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::device::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// Uses the processor's arithmetic. A NaN stays a NaN through sums and products, so it is enough to convert
/// it to the canonical encoding at the end.
template <typename T, class Op>
struct Native {
  static constexpr size_t kElement = sizeof(T);
  static constexpr bool kHeavy = false;
  template <class D>
  static HWY_INLINE auto begin(D, hn::Vec<D> v) {
    return hn::BitCast(hn::Repartition<T, D>(), v);
  }
  template <class D, class State>
  static HWY_INLINE State step(D d, State state, hn::Vec<D> v) {
    return Op::apply(state, begin(d, v));
  }
  template <class D, class State>
  static HWY_INLINE hn::Vec<D> end(D d, State state) {
    const hn::Repartition<T, D> dt;
    const hn::RebindToUnsigned<decltype(dt)> du;
    const auto nan = hn::BitCast(dt, hn::Set(du, hwy::LimitsMax<hn::TFromD<decltype(du)>>() >> 1));
    return hn::BitCast(d, hn::IfThenElse(hn::IsNaN(state), nan, state));
  }
};

template <class Op>
using Float32 = Native<float, Op>;
template <class Op>
using Float64 = Native<double, Op>;

/// bfloat16 is the upper half of a float32. So odd elements are float32 values with arbitrary low bits, and
/// even elements become float32 by a shift. The state keeps both, rounded, as float32.
template <class Op>
struct Brain {
  static constexpr size_t kElement = 2;
  static constexpr bool kHeavy = false;
  template <class V>
  struct State {
    V even, odd;
  };
  template <class D>
  static HWY_INLINE auto begin(D, hn::Vec<D> v) {
    const hn::Repartition<uint32_t, D> du;
    const hn::Repartition<float, D> df;
    const auto raw = hn::BitCast(du, v);
    return State<hn::Vec<decltype(df)>>{hn::BitCast(df, hn::ShiftLeft<16>(raw)),
                                        hn::BitCast(df, hn::And(raw, hn::Set(du, 0xffff0000u)))};
  }
  /// Rounds to nearest, ties to even, in the upper half. A NaN here has no low bits set and stays a NaN.
  template <class V>
  static HWY_INLINE V round(V v) {
    const hn::DFromV<V> df;
    const hn::RebindToUnsigned<decltype(df)> du;
    const auto raw = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(raw), hn::Set(du, 1));
    const auto up = hn::Add(raw, hn::Add(odd, hn::Set(du, 0x7fff)));
    return hn::BitCast(df, hn::And(up, hn::Set(du, 0xffff0000u)));
  }
  template <class D, class S>
  static HWY_INLINE S step(D d, S state, hn::Vec<D> v) {
    const S other = begin(d, v);
    return {round(Op::apply(state.even, other.even)), round(Op::apply(state.odd, other.odd))};
  }
  template <class D, class S>
  static HWY_INLINE hn::Vec<D> end(D d, S state) {
    const hn::Repartition<uint32_t, D> du;
    const hn::Repartition<int16_t, D> d16;
    const auto even = hn::ShiftRight<16>(hn::BitCast(du, state.even));
    const auto both = hn::BitCast(d16, hn::Or(even, hn::BitCast(du, state.odd)));
    const auto nan = hn::Set(d16, 0x7fff);
    const auto is_nan = hn::Gt(hn::And(both, nan), hn::Set(d16, 0x7f80));
    return hn::BitCast(d, hn::IfThenElse(is_nan, nan, both));
  }
};

void add_floats(Kernels& kernels) {
  add_arithmetic<Float32, Plus, Times>(kernels, DataType::float32);
  add_arithmetic<Float64, Plus, Times>(kernels, DataType::float64);
  add_arithmetic<Brain, Plus, Times>(kernels, DataType::bfloat16);
  add_order<int32_t, 0x7f800000>(kernels, DataType::float32);
  add_order<int64_t, 0x7ff0000000000000>(kernels, DataType::float64);
  add_order<int16_t, 0x7f80>(kernels, DataType::bfloat16);
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace weir::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
