// SPDX-License-Identifier: Apache-2.0
/// The data of one check: the input of each rank, and the expected output.
///
/// Element i of rank r is derived from a hash of (seed, i, r). Data that is only moved consists of random
/// bits. Data that is reduced consists of integers with few bits (for products of floats: signed powers of
/// two), so that the result is exact in every order of additions: with p bits of precision and n ranks,
/// values have at most p - ceil(log2 n) bits; if that leaves none, all but a few ranks contribute zero, and
/// these ranks differ between elements. Integer products wrap. Only averages of floats over a number of ranks
/// that is not a power of two are rounded; they must be within the error bound of their roundings.
///
/// Values; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/perf/types.h"

namespace weir::perf {

class Pattern {
 public:
  /// Used instead of a rank: the reduction of all ranks' inputs.
  static constexpr int kReduced = -1;

  /// For data that is moved, not reduced.
  Pattern(TypeInfo type, uint64_t seed);
  /// For data that is reduced over `ranks` ranks, also if it is moved first.
  Pattern(TypeInfo type, Op op, int ranks, uint64_t seed);

  /// Writes elements [first, first + count) of the rank's input.
  void input(void* out, int rank, uint64_t first, size_t count) const;

  /// Number of the `count` elements at `got` that differ from elements [first, first + count) of the rank's
  /// input, or of the reduction.
  size_t wrong(const void* got, int rank, uint64_t first, size_t count) const;

  /// Factor by which mulsum multiplies the rank's input.
  static int mulsum_factor(int rank) { return rank % 2 == 0 ? 1 : 2; }

 private:
  enum class Kind : uint8_t { bits, sum, maximum, minimum, integer_product, float_product };

  int64_t code(uint32_t index, int rank, uint32_t rank_key, uint32_t index_key) const;
  void codes(int64_t* out, int rank, uint64_t first, size_t count) const;
  void reduced_codes(int64_t* out, uint64_t first, size_t count) const;
  void fold(int64_t* into, const int64_t* with, int rank, size_t count) const;
  template <typename T>
  double value(int64_t code, int contributions) const;
  template <typename T>
  bool matches(T got, int64_t code, bool reduced) const;
  template <typename F>
  decltype(auto) with_layout(F&& f) const;

  TypeInfo type_;
  uint64_t seed_;
  Kind kind_ = Kind::bits;
  Op op_ = Op::sum;
  int ranks_ = 1;
  int members_ = 1;        ///< number of ranks that contribute more than the neutral element
  int64_t mask_ = 0;       ///< largest magnitude
  bool negative_ = false;  ///< whether values may be negative
  bool exact_ = true;
};

}  // namespace weir::perf
