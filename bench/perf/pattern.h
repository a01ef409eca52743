// SPDX-License-Identifier: Apache-2.0
/// The data of one check: what each rank puts in, and what has to come out.
///
/// Element i of rank r is drawn from a hash of (seed, i, r). Data that is only moved are random bits. Data
/// that is reduced are few-bit integers (for products of floats: signed powers of two), chosen so narrow that
/// the result is exact in every order of additions: with p bits of precision and n ranks, values have at most
/// p - ceil(log2 n) bits; where that leaves none, all but a few ranks, other ones for each element, put in
/// zero. Integer products wrap. Only averages of floats over a number of ranks that is not a power of two
/// round; they have to lie within the bound of their roundings.
///
/// Values; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/perf/types.h"

namespace weir::perf {

class Pattern {
 public:
  /// In place of a rank: the value that all ranks' inputs reduce to.
  static constexpr int kReduced = -1;

  /// For data that is moved, not reduced.
  Pattern(TypeInfo type, uint64_t seed);
  /// For data that is reduced over `ranks` ranks; also to be used where it is moved first.
  Pattern(TypeInfo type, Op op, int ranks, uint64_t seed);

  /// Writes elements [first, first + count) of the rank's input.
  void input(void* out, int rank, uint64_t first, size_t count) const;

  /// How many of `count` elements at `got` are not elements [first, first + count) of the rank's input, or of
  /// the reduction.
  size_t wrong(const void* got, int rank, uint64_t first, size_t count) const;

  /// What mulsum multiplies the rank's input by.
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
  int members_ = 1;        ///< how many ranks put in more than the neutral element
  int64_t mask_ = 0;       ///< largest magnitude
  bool negative_ = false;  ///< whether values may be negative
  bool exact_ = true;
};

}  // namespace weir::perf
