// SPDX-License-Identifier: Apache-2.0
/// Fractions of any size: sums and products of packings stay exact for any capacities.
/// Tests: tests/algorithms/packing_test.cc
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

#include "algorithms/network/ratio.h"

namespace weir::algorithms {

using Whole = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;

inline Rational exactly(const Ratio& ratio) { return {Whole(ratio.numerator), Whole(ratio.denominator)}; }

}  // namespace weir::algorithms
