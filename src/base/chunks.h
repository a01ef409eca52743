// SPDX-License-Identifier: Apache-2.0
/// How a buffer is divided into parts; planner, executor and checks all use these functions.
/// Tests: tests/base/chunks_test.cc
#pragma once

#include <algorithm>
#include <cstddef>

namespace weir {

/// A contiguous range of elements.
struct Extent {
  size_t first = 0;
  size_t count = 0;
};

/// The smallest multiple of `unit` that is at least `size`.
constexpr size_t round_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

/// Part `index` of `parts` nearly equal parts of `total` elements. Parts begin at multiples of `grain`
/// elements, differ by at most one grain, cover everything in order, and may be empty at the end.
/// REQUIRES: parts > 0, index < parts, grain > 0.
constexpr Extent part_of(size_t total, size_t parts, size_t index, size_t grain) {
  if (parts == 1) return {0, total};
  const size_t grains = total / grain + (total % grain != 0);
  const size_t base = grains / parts;
  const size_t longer = grains % parts;
  const size_t first = std::min(total, (base * index + std::min(index, longer)) * grain);
  const size_t count = (base + (index < longer ? 1 : 0)) * grain;
  return {first, std::min(count, total - first)};
}

}  // namespace weir
