/// float16 to float32 and back in vectors. With F16C that is one instruction each way; without (SSE4) it is
/// integer and float arithmetic that gives the same bits. Compiled once per instruction set.
#include "hwy/highway.h"

#if defined(WEIR_HALF_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_HALF_INL_H
#undef WEIR_HALF_INL_H
#else
#define WEIR_HALF_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace weir::device::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

#if HWY_TARGET == HWY_SSE4

/// The float32 whose bits are `bits`.
template <class D>
HWY_INLINE hn::Vec<D> float_of(D df, uint32_t bits) {
  return hn::BitCast(df, hn::Set(hn::RebindToUnsigned<D>(), bits));
}

constexpr uint32_t kSmallestNormal = 113u << 23;  // 2^-14 of float16, as float32

/// float16 bits (u16 lanes) to float32.
template <class DF, class V16>
HWY_INLINE hn::Vec<DF> widen(DF df, V16 half) {
  const hn::RebindToSigned<DF> di;
  const hn::RebindToUnsigned<DF> du;
  const auto raw = hn::PromoteTo(du, half);
  const auto sign = hn::ShiftLeft<16>(hn::And(raw, hn::Set(du, 0x8000)));
  const auto shifted = hn::BitCast(di, hn::ShiftLeft<13>(hn::And(raw, hn::Set(du, 0x7fff))));
  const auto rebias = hn::Set(di, 112 << 23);
  const auto normal = hn::Add(shifted, rebias);
  const auto beyond = hn::Gt(shifted, hn::Set(di, (31 << 23) - 1));  // infinity or NaN
  const auto large = hn::Add(normal, hn::IfThenElseZero(beyond, rebias));
  // A denormal: put its fraction below a leading one, then take that one away.
  const auto tiny = hn::Lt(shifted, hn::Set(di, 1 << 23));
  const auto small =
      hn::Sub(hn::BitCast(df, hn::Add(normal, hn::Set(di, 1 << 23))), float_of(df, kSmallestNormal));
  const auto magnitude = hn::IfThenElse(tiny, hn::BitCast(di, small), large);
  return hn::BitCast(df, hn::Or(hn::BitCast(du, magnitude), sign));
}

/// float32 to float16 bits, to nearest, ties to even; overflow to infinity; a NaN stays one.
template <class D16, class VF>
HWY_INLINE hn::Vec<D16> narrow(D16 d16, VF value) {
  const hn::DFromV<VF> df;
  const hn::RebindToSigned<decltype(df)> di;
  const hn::RebindToUnsigned<decltype(df)> du;
  const auto raw = hn::BitCast(du, value);
  const auto sign = hn::ShiftRight<16>(hn::And(raw, hn::Set(du, 0x80000000u)));
  const auto magnitude = hn::BitCast(di, hn::And(raw, hn::Set(du, 0x7fffffffu)));
  const auto is_nan = hn::Gt(magnitude, hn::Set(di, 0x7f800000));
  const auto clamped = hn::Min(magnitude, hn::Set(di, 143 << 23));  // 2^16 becomes infinity, as all above
  // Adding 2^(e+13) to a number of exponent e leaves the 11 bits of float16, rounded; then it is taken away.
  const auto exponent = hn::Max(hn::And(clamped, hn::Set(di, 0x7f800000)), hn::Set(di, kSmallestNormal));
  const auto magic = hn::BitCast(df, hn::Add(exponent, hn::Set(di, 13 << 23)));
  const auto rounded = hn::Sub(hn::Add(hn::BitCast(df, clamped), magic), magic);
  const auto tiny = hn::Lt(hn::BitCast(di, rounded), hn::Set(di, kSmallestNormal));
  const auto lifted = hn::BitCast(di, hn::Add(rounded, float_of(df, kSmallestNormal)));
  const auto small = hn::Sub(hn::ShiftRight<13>(lifted), hn::Set(di, 113 << 10));
  const auto normal = hn::Sub(hn::ShiftRight<13>(hn::BitCast(di, rounded)), hn::Set(di, 112 << 10));
  const auto number = hn::IfThenElse(tiny, small, normal);
  const auto code = hn::IfThenElse(is_nan, hn::Set(di, 0x7fff), number);
  // Sign extended, so that the saturating conversion to 16 bits keeps every bit.
  const auto whole = hn::Or(hn::BitCast(du, code), sign);
  const auto extended = hn::ShiftRight<16>(hn::BitCast(di, hn::ShiftLeft<16>(whole)));
  return hn::BitCast(d16, hn::DemoteTo(hn::RebindToSigned<D16>(), extended));
}

#else

template <class DF, class V16>
HWY_INLINE hn::Vec<DF> widen(DF df, V16 half) {
  return hn::PromoteTo(df, hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), half));
}

template <class D16, class VF>
HWY_INLINE hn::Vec<D16> narrow(D16 d16, VF value) {
  return hn::BitCast(d16, hn::DemoteTo(hn::Rebind<hwy::float16_t, D16>(), value));
}

#endif

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace weir::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
