// SPDX-License-Identifier: Apache-2.0
/// The expected result of a collective, computed directly, for integers in any arithmetic type.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/ir/plan.h"

namespace weir::exec {

/// Element i of the rank's input: small values that all differ.
inline int64_t sample(Rank rank, size_t i) {
  return static_cast<int64_t>((i * 7 + static_cast<size_t>(rank) * 13) % 50) + 1;
}

/// Element i of the rank's output, for a sum.
inline int64_t expected(const ir::Shape& shape, Rank rank, size_t count, size_t i) {
  const auto sum = [&](size_t at) {
    int64_t total = 0;
    for (Rank r = 0; r < shape.ranks; ++r) total += sample(r, at);
    return total;
  };
  const auto block = static_cast<Rank>(count > 0 ? i / count : 0);
  const size_t own = static_cast<size_t>(rank) * count;
  switch (shape.kind) {
    case Collective::all_reduce:
    case Collective::reduce: return sum(i);
    case Collective::broadcast: return sample(shape.root, i);
    case Collective::all_gather:
    case Collective::gather: return sample(block, i % count);
    case Collective::reduce_scatter: return sum(own + i);
    case Collective::scatter: return sample(shape.root, own + i);
    default: return sample(block, own + i % count);
  }
}

template <typename T>
std::vector<T> inputs(const ir::Shape& shape, Rank rank, size_t count) {
  std::vector<T> values(static_cast<size_t>(ir::input_blocks(shape, rank)) * count);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(sample(rank, i));
  return values;
}

template <typename T>
std::vector<T> outputs(const ir::Shape& shape, Rank rank, size_t count) {
  std::vector<T> values(static_cast<size_t>(ir::output_blocks(shape, rank)) * count);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(expected(shape, rank, count, i));
  return values;
}

}  // namespace weir::exec
