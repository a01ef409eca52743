/// Fractions of any size: sums and products of packings stay exact however large capacities are.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

#include "algorithms/net/ratio.h"

namespace weir::algorithms {

using Rational = boost::multiprecision::cpp_rational;

inline Rational exactly(const Ratio& ratio) {
  using Whole = boost::multiprecision::cpp_int;
  return {Whole(ratio.numerator), Whole(ratio.denominator)};
}

}  // namespace weir::algorithms
