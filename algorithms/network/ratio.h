// SPDX-License-Identifier: Apache-2.0
/// Non-negative fractions of whole numbers, compared exactly.
///
/// 128 bits suffice for bounds: sums of 2^31 capacities below 2^63 times 2^31 ranks.
/// Tests: tests/algorithms/network_test.cc
#pragma once

#include <compare>
#include <string>

namespace weir::algorithms {

using Int128 = __int128;

/// A fraction in lowest terms. A value.
struct Ratio {
  Int128 numerator = 0;
  Int128 denominator = 1;

  Ratio() = default;
  /// REQUIRES: numerator >= 0, denominator > 0.
  Ratio(Int128 numerator, Int128 denominator);

  /// The inverse. REQUIRES: it is not 0.
  Ratio inverse() const { return {denominator, numerator}; }
  /// An approximation for output; bounds and proofs never use it.
  double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }

  bool operator==(const Ratio&) const = default;
  std::strong_ordering operator<=>(const Ratio& other) const;
};

/// The text, such as "25/156" or "40".
std::string text(const Ratio& ratio);

}  // namespace weir::algorithms
