// SPDX-License-Identifier: Apache-2.0
/// Vector kernels of max and min of floats: they compare the integers of to_order() (float_format.h), so one
/// definition serves every format. Compiled once per instruction set.
/// Tests: tests/device/reduce_test.cc
#include "src/device/reduce_loops-inl.h"

#if defined(WEIR_REDUCE_ORDER_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_REDUCE_ORDER_INL_H
#undef WEIR_REDUCE_ORDER_INL_H
#else
#define WEIR_REDUCE_ORDER_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::device::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// T: the signed integer of the format's size. kGreatest: the magnitude of its greatest number.
template <typename T, T kGreatest, bool kMax>
struct OrderedLanes {
  static constexpr size_t kElement = sizeof(T);
  static constexpr bool kHeavy = false;
  static constexpr T kMagnitude = static_cast<T>((uint64_t{1} << (8 * sizeof(T) - 1)) - 1);
  static constexpr T kRoom = static_cast<T>(kMagnitude - kGreatest);

  /// Mirrors the negative numbers, whose bits increase as their values decrease. The function is its own
  /// inverse.
  template <class V>
  static HWY_INLINE V mirror(V v) {
    return hn::Xor(v, hn::And(hn::BroadcastSignBit(v), hn::Set(hn::DFromV<V>(), kMagnitude)));
  }
  template <class D>
  static HWY_INLINE auto begin(D, hn::Vec<D> v) {
    const hn::Repartition<T, D> d;
    const auto ascending = mirror(hn::BitCast(d, v));
    return kMax ? hn::Add(ascending, hn::Set(d, kRoom)) : hn::Sub(ascending, hn::Set(d, kRoom));
  }
  template <class D, class State>
  static HWY_INLINE State step(D d, State state, hn::Vec<D> v) {
    return kMax ? hn::Max(state, begin(d, v)) : hn::Min(state, begin(d, v));
  }
  template <class D, class State>
  static HWY_INLINE hn::Vec<D> end(D d, State state) {
    const auto room = hn::Set(hn::Repartition<T, D>(), kRoom);
    return hn::BitCast(d, mirror(kMax ? hn::Sub(state, room) : hn::Add(state, room)));
  }
};

template <typename T, T kGreatest>
void add_order(Kernels& kernels, DataType type) {
  kernels.at(type, RedOp::max) = kernels_of<OrderedLanes<T, kGreatest, true>>();
  kernels.at(type, RedOp::min) = kernels_of<OrderedLanes<T, kGreatest, false>>();
}

/// All kernels of one float type; Arithmetic<Op> are its Ops for sum and prod.
template <template <class> class Arithmetic, class Plus, class Times>
void add_arithmetic(Kernels& kernels, DataType type) {
  kernels.at(type, RedOp::sum) = kernels_of<Arithmetic<Plus>>();
  kernels.at(type, RedOp::prod) = kernels_of<Arithmetic<Times>>();
  kernels.scale[static_cast<int>(type)] = &scale_by<Arithmetic<Times>>;
}

struct Plus {
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::Add(a, b);
  }
};

struct Times {
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::Mul(a, b);
  }
};

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace weir::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
