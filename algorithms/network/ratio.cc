// SPDX-License-Identifier: Apache-2.0

#include "algorithms/network/ratio.h"

#include <fmt/format.h>

#include <utility>

namespace weir::algorithms {
namespace {

Int128 common_divisor(Int128 a, Int128 b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

}  // namespace

Ratio::Ratio(Int128 above, Int128 below) {
  const Int128 divisor = common_divisor(above, below);
  numerator = above / divisor;
  denominator = below / divisor;
}

/// Compares whole parts first, then the inverses of the remainders, as in Euclid's algorithm, because
/// products could overflow.
std::strong_ordering Ratio::operator<=>(const Ratio& other) const {
  Int128 a = numerator;
  Int128 b = denominator;
  Int128 c = other.numerator;
  Int128 d = other.denominator;
  for (bool turned = false;; turned = !turned) {
    const auto order = a / b <=> c / d;
    if (order != 0) return turned ? 0 <=> order : order;
    a %= b;
    c %= d;
    if (a == 0 || c == 0) {
      const auto rest = (a == 0 ? 0 : 1) <=> (c == 0 ? 0 : 1);
      return turned ? 0 <=> rest : rest;
    }
    std::swap(a, b);
    std::swap(c, d);
  }
}

std::string text(const Ratio& ratio) {
  return ratio.denominator == 1 ? fmt::format("{}", ratio.numerator)
                                : fmt::format("{}/{}", ratio.numerator, ratio.denominator);
}

}  // namespace weir::algorithms
