/// The loops of every vector kernel, over bytes. Compiled once per instruction set: no include guard of the
/// usual kind.
///
/// Ops says what is done (reduce_ops-inl.h):
///     begin(d, bytes) -> state      the first source
///     step(d, state, bytes)         folds in one more
///     end(d, state) -> bytes
/// Rows says to what: two sources, many, or one and a constant.
///
/// The first and the last vector of a destination may overlap their neighbours. Both are computed before
/// anything is stored, so this is right even where the destination is a source.
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "src/device/highway.h"  // first
#include "src/device/reduce_kernels.h"

#if defined(WEIR_REDUCE_LOOPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_REDUCE_LOOPS_INL_H
#undef WEIR_REDUCE_LOOPS_INL_H
#else
#define WEIR_REDUCE_LOOPS_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::device::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

using Wide = hn::ScalableTag<uint8_t>;
using Block16 = hn::CappedTag<uint8_t, 16>;
using Block8 = hn::CappedTag<uint8_t, 8>;

/// Loads the vector at an offset.
struct At {
  size_t offset;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const uint8_t* from) const {
    return hn::LoadU(d, from + offset);
  }
};

/// Loads 1 to 7 bytes, the rest zero.
struct Few {
  size_t bytes;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const uint8_t* from) const {
    uint64_t value = 0;
    if (bytes & 1) value = from[bytes - 1];
    if (bytes & 2) {
      uint16_t part;
      __builtin_memcpy(&part, from + (bytes & 4), sizeof(part));
      value = value << 16 | part;
    }
    if (bytes & 4) {
      uint32_t part;
      __builtin_memcpy(&part, from, sizeof(part));
      value = value << 32 | part;
    }
    return hn::BitCast(d, hn::Set(hn::Repartition<uint64_t, D>(), value));
  }
  template <class D>
  HWY_INLINE void store(D, hn::Vec<D> vector, uint8_t* to) const {
    uint64_t value = hn::GetLane(hn::BitCast(hn::Repartition<uint64_t, D>(), vector));
    if (bytes & 4) {
      __builtin_memcpy(to, &value, 4);
      value >>= 32;
    }
    if (bytes & 2) {
      __builtin_memcpy(to + (bytes & 4), &value, 2);
      value >>= 16;
    }
    if (bytes & 1) to[bytes - 1] = static_cast<uint8_t>(value);
  }
};

struct Pair {
  const uint8_t* first;
  const uint8_t* second;
  template <class Ops, class D, class Where>
  HWY_INLINE hn::Vec<D> fold(D d, Where where) const {
    return Ops::end(d, Ops::step(d, Ops::begin(d, where.load(d, first)), where.load(d, second)));
  }
};

struct Many {
  const uint8_t* const* src;
  int sources;
  template <class Ops, class D, class Where>
  HWY_INLINE hn::Vec<D> fold(D d, Where where) const {
    auto state = Ops::begin(d, where.load(d, src[0]));
    for (int k = 1; k < sources; ++k) state = Ops::step(d, state, where.load(d, src[k]));
    return Ops::end(d, state);
  }
};

/// One source and a constant of 8 bytes, an element repeated.
struct Scaled {
  const uint8_t* src;
  uint64_t factor;
  template <class Ops, class D, class Where>
  HWY_INLINE hn::Vec<D> fold(D d, Where where) const {
    const auto constant = hn::BitCast(d, hn::Set(hn::Repartition<uint64_t, D>(), factor));
    return Ops::end(d, Ops::step(d, Ops::begin(d, where.load(d, src)), constant));
  }
};

/// REQUIRES: bytes >= Lanes(d).
template <class Ops, class D, class Rows>
HWY_INLINE void run_vectors(D d, uint8_t* HWY_RESTRICT dst, const Rows& rows, size_t bytes) {
  constexpr size_t kVector = hn::MaxLanes(D());
  const size_t last = bytes - kVector;
  const auto tail = rows.template fold<Ops>(d, At{last});
  size_t at = 0;
  for (; at + 4 * kVector <= last; at += 4 * kVector) {
    const auto v0 = rows.template fold<Ops>(d, At{at});
    const auto v1 = rows.template fold<Ops>(d, At{at + kVector});
    const auto v2 = rows.template fold<Ops>(d, At{at + 2 * kVector});
    const auto v3 = rows.template fold<Ops>(d, At{at + 3 * kVector});
    hn::StoreU(v0, d, dst + at);
    hn::StoreU(v1, d, dst + at + kVector);
    hn::StoreU(v2, d, dst + at + 2 * kVector);
    hn::StoreU(v3, d, dst + at + 3 * kVector);
  }
  for (; at < last; at += kVector) hn::StoreU(rows.template fold<Ops>(d, At{at}), d, dst + at);
  hn::StoreU(tail, d, dst + last);
}

template <class Ops, class Rows>
HWY_INLINE void run(uint8_t* dst, const Rows& rows, size_t bytes) {
  if (bytes >= hn::MaxLanes(Wide())) return run_vectors<Ops>(Wide(), dst, rows, bytes);
  if (bytes >= 16) return run_vectors<Ops>(Block16(), dst, rows, bytes);
  const Block8 d;
  if (bytes >= 8) {
    const auto head = rows.template fold<Ops>(d, At{0});
    const auto tail = rows.template fold<Ops>(d, At{bytes - 8});
    hn::StoreU(head, d, dst);
    hn::StoreU(tail, d, dst + bytes - 8);
  } else if (bytes > 0) {
    const Few few{bytes};
    few.store(d, rows.template fold<Ops>(d, few), dst);
  }
}

/// As run, past the cache where the destination can be aligned to a vector by whole elements. dst must not be
/// a source.
template <class Ops, class Rows>
HWY_INLINE void run_streaming(uint8_t* dst, const Rows& rows, size_t bytes) {
  const Wide d;
  constexpr size_t kVector = hn::MaxLanes(Wide());
  const size_t head = (kVector - reinterpret_cast<uintptr_t>(dst) % kVector) % kVector;
  if (bytes < 8 * kVector || head % Ops::kElement != 0) return run<Ops>(dst, rows, bytes);
  hn::StoreU(rows.template fold<Ops>(d, At{0}), d, dst);
  size_t at = head;
  for (; at + kVector <= bytes; at += kVector) hn::Stream(rows.template fold<Ops>(d, At{at}), d, dst + at);
  if (at < bytes) hn::StoreU(rows.template fold<Ops>(d, At{bytes - kVector}), d, dst + bytes - kVector);
  hwy::FlushStream();
}

template <class Ops>
void fold_pair(uint8_t* dst, const uint8_t* const* src, int /*sources*/, size_t bytes) {
  run<Ops>(dst, Pair{src[0], src[1]}, bytes);
}

template <class Ops>
void fold_many(uint8_t* dst, const uint8_t* const* src, int sources, size_t bytes) {
  run<Ops>(dst, Many{src, sources}, bytes);
}

template <class Ops>
void fold_streaming(uint8_t* dst, const uint8_t* const* src, int sources, size_t bytes) {
  if (sources == 2) return run_streaming<Ops>(dst, Pair{src[0], src[1]}, bytes);
  run_streaming<Ops>(dst, Many{src, sources}, bytes);
}

template <class Ops>
void scale_by(uint8_t* dst, const uint8_t* src, Scalar factor, size_t bytes) {
  uint64_t repeated = 0;
  for (size_t i = 0; i < sizeof(repeated); i += Ops::kElement) {
    __builtin_memcpy(reinterpret_cast<char*>(&repeated) + i, factor.bits, Ops::kElement);
  }
  run<Ops>(dst, Scaled{src, repeated}, bytes);
}

template <class Ops>
constexpr FoldKernels kernels_of() {
  return {&fold_pair<Ops>, &fold_many<Ops>, &fold_streaming<Ops>};
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace weir::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
