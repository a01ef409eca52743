// SPDX-License-Identifier: Apache-2.0
/// The loops of every vector kernel, over bytes. Compiled once per instruction set: no include guard of the
/// usual kind.
///
/// Ops defines the operation:
///     begin(d, bytes) -> state      the first source
///     step(d, state, bytes)         folds in one more
///     end(d, state) -> bytes
///     kElement                      bytes of an element
///     kHeavy                        much arithmetic: not worth unrolling
/// Rows defines the operands: two sources, many sources, or one source and a constant.
///
/// The first and the last vector of a destination may overlap their neighbours. Both are computed before
/// anything is stored, so this is right even where the destination is a source.
/// Tests: tests/device/reduce_test.cc
#include "hwy/cache_control.h"
#include "hwy/highway.h"
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

/// Loads and stores the vector at an offset.
struct At {
  size_t offset;
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, const uint8_t* from) const {
    return hn::LoadU(d, from + offset);
  }
};

template <typename T>
HWY_INLINE T load_as(const uint8_t* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof(T));
  return value;
}
template <typename T>
HWY_INLINE void store_as(uint8_t* to, uint64_t value) {
  __builtin_memcpy(to, &value, sizeof(T));
}

/// Loads and stores 1 to 15 bytes, in registers; the rest of the vector is zero.
struct Few {
  size_t bytes;

  HWY_INLINE hn::Vec<Block16> load(Block16 d, const uint8_t* from) const {
    const hn::Repartition<uint64_t, Block16> d64;
    uint64_t low = 0;
    uint64_t high = 0;
    if (bytes >= 8) {
      low = load_as<uint64_t>(from);
      if (bytes > 8) high = load_as<uint64_t>(from + bytes - 8) >> (128 - 8 * bytes);
    } else {
      if (bytes & 1) low = from[bytes - 1];
      if (bytes & 2) low = low << 16 | load_as<uint16_t>(from + (bytes & 4));
      if (bytes & 4) low = low << 32 | load_as<uint32_t>(from);
    }
    return hn::BitCast(d, hn::InterleaveLower(hn::Set(d64, low), hn::Set(d64, high)));
  }

  HWY_INLINE void store(hn::Vec<Block16> vector, uint8_t* to) const {
    const hn::Repartition<uint64_t, Block16> d64;
    const auto lanes = hn::BitCast(d64, vector);
    uint64_t low = hn::GetLane(lanes);
    if (bytes >= 8) {
      store_as<uint64_t>(to, low);
      if (bytes == 8) return;
      const uint64_t high = hn::GetLane(hn::InterleaveUpper(d64, lanes, lanes));
      store_as<uint64_t>(to + bytes - 8, high << (128 - 8 * bytes) | low >> (8 * bytes - 64));
      return;
    }
    if (bytes & 4) {
      store_as<uint32_t>(to, low);
      low >>= 32;
    }
    if (bytes & 2) {
      store_as<uint16_t>(to + (bytes & 4), low);
      low >>= 16;
    }
    if (bytes & 1) store_as<uint8_t>(to + bytes - 1, low);
  }
};

/// The position `vectors` vectors further on.
template <class D>
HWY_INLINE At next(D, size_t at, size_t vectors) {
  return At{at + vectors * hn::MaxLanes(D())};
}

template <class D, class V>
HWY_INLINE void store_four(D d, uint8_t* to, V v0, V v1, V v2, V v3) {
  constexpr size_t kVector = hn::MaxLanes(D());
  hn::StoreU(v0, d, to);
  hn::StoreU(v1, d, to + kVector);
  hn::StoreU(v2, d, to + 2 * kVector);
  hn::StoreU(v3, d, to + 3 * kVector);
}

struct TwoSources {
  const uint8_t* first;
  const uint8_t* second;
  template <class Ops, class D, class Where>
  HWY_INLINE hn::Vec<D> fold(D d, Where where) const {
    return Ops::end(d, Ops::step(d, Ops::begin(d, where.load(d, first)), where.load(d, second)));
  }
  template <class Ops, class D>
  HWY_INLINE void fold_four(D d, size_t at, uint8_t* dst) const {
    store_four(d, dst + at, fold<Ops>(d, At{at}), fold<Ops>(d, next(d, at, 1)), fold<Ops>(d, next(d, at, 2)),
               fold<Ops>(d, next(d, at, 3)));
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
  /// Processes four vectors at a time, so that one loop over the sources serves all four.
  template <class Ops, class D>
  HWY_INLINE void fold_four(D d, size_t at, uint8_t* dst) const {
    const At at0{at};
    const At at1 = next(d, at, 1);
    const At at2 = next(d, at, 2);
    const At at3 = next(d, at, 3);
    auto s0 = Ops::begin(d, at0.load(d, src[0]));
    auto s1 = Ops::begin(d, at1.load(d, src[0]));
    auto s2 = Ops::begin(d, at2.load(d, src[0]));
    auto s3 = Ops::begin(d, at3.load(d, src[0]));
    for (int k = 1; k < sources; ++k) {
      s0 = Ops::step(d, s0, at0.load(d, src[k]));
      s1 = Ops::step(d, s1, at1.load(d, src[k]));
      s2 = Ops::step(d, s2, at2.load(d, src[k]));
      s3 = Ops::step(d, s3, at3.load(d, src[k]));
    }
    store_four(d, dst + at, Ops::end(d, s0), Ops::end(d, s1), Ops::end(d, s2), Ops::end(d, s3));
  }
};

/// One source, and a constant of 8 bytes that repeats one element.
struct Scaled {
  const uint8_t* src;
  uint64_t factor;
  template <class Ops, class D, class Where>
  HWY_INLINE hn::Vec<D> fold(D d, Where where) const {
    const auto constant = hn::BitCast(d, hn::Set(hn::Repartition<uint64_t, D>(), factor));
    return Ops::end(d, Ops::step(d, Ops::begin(d, where.load(d, src)), constant));
  }
  template <class Ops, class D>
  HWY_INLINE void fold_four(D d, size_t at, uint8_t* dst) const {
    store_four(d, dst + at, fold<Ops>(d, At{at}), fold<Ops>(d, next(d, at, 1)), fold<Ops>(d, next(d, at, 2)),
               fold<Ops>(d, next(d, at, 3)));
  }
};

/// REQUIRES: bytes >= Lanes(d).
template <class Ops, class D, class Rows>
HWY_INLINE void run_vectors(D d, uint8_t* HWY_RESTRICT dst, const Rows& rows, size_t bytes) {
  constexpr size_t kVector = hn::MaxLanes(D());
  const size_t last = bytes - kVector;
  const auto tail = rows.template fold<Ops>(d, At{last});
  size_t at = 0;
  if constexpr (!Ops::kHeavy) {
    for (; at + 4 * kVector <= last; at += 4 * kVector) {
      rows.template fold_four<Ops>(d, at, dst);
    }
  }
  for (; at < last; at += kVector) hn::StoreU(rows.template fold<Ops>(d, At{at}), d, dst + at);
  hn::StoreU(tail, d, dst + last);
}

template <class Ops, class Rows>
HWY_INLINE void run(uint8_t* dst, const Rows& rows, size_t bytes) {
  if (bytes >= hn::MaxLanes(Wide())) return run_vectors<Ops>(Wide(), dst, rows, bytes);
  if (bytes >= 16) return run_vectors<Ops>(Block16(), dst, rows, bytes);
  if (bytes == 0) return;
  const Few few{bytes};
  few.store(rows.template fold<Ops>(Block16(), few), dst);
}

/// Whether all destinations reach a vector boundary after the same number of whole elements, and are long
/// enough.
template <class Ops>
HWY_INLINE bool can_stream(uint8_t* const* dst, int destinations, size_t bytes) {
  constexpr size_t kVector = hn::MaxLanes(Wide());
  const auto misplaced = [&](int k) { return reinterpret_cast<uintptr_t>(dst[k]) % kVector; };
  for (int k = 1; k < destinations; ++k) {
    if (misplaced(k) != misplaced(0)) return false;
  }
  return bytes >= 8 * kVector && misplaced(0) % Ops::kElement == 0;
}

/// As run(), but with stores that bypass the cache, and into several destinations. REQUIRES: can_stream(); no
/// destination is a source.
template <class Ops, class Rows>
HWY_INLINE void run_streaming(uint8_t* const* dst, int destinations, const Rows& rows, size_t bytes) {
  const Wide d;
  constexpr size_t kVector = hn::MaxLanes(Wide());
  const size_t last = bytes - kVector;
  const auto head = rows.template fold<Ops>(d, At{0});
  const auto tail = rows.template fold<Ops>(d, At{last});
  for (int k = 0; k < destinations; ++k) hn::StoreU(head, d, dst[k]);
  size_t at = (kVector - reinterpret_cast<uintptr_t>(dst[0]) % kVector) % kVector;
  for (; at + kVector <= bytes; at += kVector) {
    const auto vector = rows.template fold<Ops>(d, At{at});
    for (int k = 0; k < destinations; ++k) hn::Stream(vector, d, dst[k] + at);
  }
  for (int k = 0; k < destinations; ++k) hn::StoreU(tail, d, dst[k] + last);
  hwy::FlushStream();
}

template <class Ops>
void fold_pair(uint8_t* dst, const uint8_t* const* src, int /*sources*/, size_t bytes) {
  run<Ops>(dst, TwoSources{src[0], src[1]}, bytes);
}

template <class Ops>
void fold_many(uint8_t* dst, const uint8_t* const* src, int sources, size_t bytes) {
  run<Ops>(dst, Many{src, sources}, bytes);
}

template <class Ops>
void fold_streaming(uint8_t* const* dst, int destinations, const uint8_t* const* src, int sources,
                    size_t bytes) {
  if (can_stream<Ops>(dst, destinations, bytes)) {
    if (sources == 2) return run_streaming<Ops>(dst, destinations, TwoSources{src[0], src[1]}, bytes);
    return run_streaming<Ops>(dst, destinations, Many{src, sources}, bytes);
  }
  fold_many<Ops>(dst[0], src, sources, bytes);
  for (int k = 1; k < destinations; ++k) __builtin_memcpy(dst[k], dst[0], bytes);
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
