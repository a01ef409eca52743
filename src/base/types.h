// SPDX-License-Identifier: Apache-2.0
/// The element types, reduction operations and collectives of calls. Their numbers equal NCCL's enums.
/// Tests: tests/device/reduce_test.cc
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weir/collective.h"

namespace weir {

using Rank = int32_t;

enum class DataType : uint8_t {
  int8,
  uint8,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  float32,
  float64,
  bfloat16,
  float8e4m3,
  float8e5m2,
};
inline constexpr int kDataTypes = 12;

/// The operations of reduction kernels. Averages and scaled sums are sums with a scaling before or after them
/// (Scaling).
enum class RedOp : uint8_t { sum, prod, max, min };

inline constexpr int kCollectives = 9;

/// Bytes of an element, by type. The table is outside of size_of(), which would otherwise rebuild it on every
/// call.
inline constexpr uint8_t kDataTypeSizes[kDataTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
constexpr size_t size_of(DataType type) { return kDataTypeSizes[static_cast<int>(type)]; }

constexpr bool is_float(DataType type) { return type >= DataType::float16; }

constexpr bool reduces(Collective kind) {
  return kind == Collective::all_reduce || kind == Collective::reduce || kind == Collective::reduce_scatter;
}
/// True if the collective brings every piece of the result to all ranks.
constexpr bool spreads(Collective kind) {
  return kind == Collective::all_reduce || kind == Collective::broadcast || kind == Collective::all_gather;
}
constexpr bool has_root(Collective kind) {
  return kind == Collective::reduce || kind == Collective::broadcast || kind == Collective::gather ||
         kind == Collective::scatter;
}

/// The name of a value in plan files, tables and logs: "float32", "sum", "all_reduce".
std::string_view name(DataType type);
std::string_view name(RedOp op);
std::string_view name(Collective kind);

}  // namespace weir
