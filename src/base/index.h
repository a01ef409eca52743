// SPDX-License-Identifier: Apache-2.0
/// Numbers as indexes of containers. Pure.
/// Tests: tests/algorithms/bound_test.cc
#pragma once

#include <concepts>
#include <cstddef>

namespace weir {

/// Converts a number that is known to be at least 0, such as a rank, to an index of a container.
template <std::integral Place>
constexpr size_t at(Place place) {
  return static_cast<size_t>(place);
}

}  // namespace weir
