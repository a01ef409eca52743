// SPDX-License-Identifier: Apache-2.0
/// Vector kernels of the integers, and the streaming copy.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "src/device/reduce_integers.cc"
#include "hwy/foreach_target.h"
#include "src/device/reduce_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weir::device::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// Operations whose state is one vector of lanes T.
template <typename T>
struct Lanes {
  static constexpr size_t kElement = sizeof(T);
  static constexpr bool kHeavy = false;
  template <class D>
  static HWY_INLINE auto begin(D, hn::Vec<D> v) {
    return hn::BitCast(hn::Repartition<T, D>(), v);
  }
  template <class D, class State>
  static HWY_INLINE hn::Vec<D> end(D d, State state) {
    return hn::BitCast(d, state);
  }
};

template <typename T>
struct Sum : Lanes<T> {
  template <class D, class State>
  static HWY_INLINE State step(D d, State state, hn::Vec<D> v) {
    return hn::Add(state, Lanes<T>::begin(d, v));
  }
};

template <typename T>
struct Max : Lanes<T> {
  template <class D, class State>
  static HWY_INLINE State step(D d, State state, hn::Vec<D> v) {
    return hn::Max(state, Lanes<T>::begin(d, v));
  }
};

template <typename T>
struct Min : Lanes<T> {
  template <class D, class State>
  static HWY_INLINE State step(D d, State state, hn::Vec<D> v) {
    return hn::Min(state, Lanes<T>::begin(d, v));
  }
};

template <typename T>
struct Prod : Lanes<T> {
  template <class D, class State>
  static HWY_INLINE State step(D d, State state, hn::Vec<D> v) {
    return hn::Mul(state, Lanes<T>::begin(d, v));
  }
};

/// There is no vector multiplication of bytes, so even and odd bytes are multiplied separately as 16-bit
/// lanes.
template <>
struct Prod<uint8_t> : Lanes<uint8_t> {
  template <class D, class State>
  static HWY_INLINE State step(D d, State state, hn::Vec<D> v) {
    const hn::Repartition<uint16_t, D> d16;
    const auto low = hn::Set(d16, 0x00ff);
    const auto a = hn::BitCast(d16, state);
    const auto b = hn::BitCast(d16, v);
    const auto even = hn::And(hn::Mul(a, b), low);
    const auto odd = hn::Mul(hn::ShiftRight<8>(a), hn::AndNot(low, b));
    return hn::BitCast(d, hn::Or(even, odd));
  }
};

template <typename T, typename Unsigned>
void add_type(Kernels& kernels, DataType type) {
  kernels.at(type, RedOp::sum) = kernels_of<Sum<Unsigned>>();
  kernels.at(type, RedOp::prod) = kernels_of<Prod<Unsigned>>();
  kernels.at(type, RedOp::max) = kernels_of<Max<T>>();
  kernels.at(type, RedOp::min) = kernels_of<Min<T>>();
  kernels.scale[static_cast<int>(type)] = &scale_by<Prod<Unsigned>>;
}

/// Copies one source unchanged.
struct Copied {
  const uint8_t* src;
  template <class Ops, class D, class Where>
  HWY_INLINE hn::Vec<D> fold(D d, Where where) const {
    return where.load(d, src);
  }
  template <class Ops, class D>
  HWY_INLINE void fold_four(D d, size_t at, uint8_t* dst) const {
    store_four(d, dst + at, hn::LoadU(d, src + at), next(d, at, 1).load(d, src), next(d, at, 2).load(d, src),
               next(d, at, 3).load(d, src));
  }
};

void copy_streaming(uint8_t* dst, const uint8_t* src, size_t bytes) {
  if (!can_stream<Lanes<uint8_t>>(&dst, 1, bytes)) return run<Lanes<uint8_t>>(dst, Copied{src}, bytes);
  run_streaming<Lanes<uint8_t>>(&dst, 1, Copied{src}, bytes);
}

void add_integers(Kernels& kernels) {
  add_type<int8_t, uint8_t>(kernels, DataType::int8);
  add_type<uint8_t, uint8_t>(kernels, DataType::uint8);
  add_type<int32_t, uint32_t>(kernels, DataType::int32);
  add_type<uint32_t, uint32_t>(kernels, DataType::uint32);
  add_type<int64_t, uint64_t>(kernels, DataType::int64);
  add_type<uint64_t, uint64_t>(kernels, DataType::uint64);
  kernels.streaming_copy = &copy_streaming;
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace weir::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
