// SPDX-License-Identifier: Apache-2.0
/// The types in which elements of fp32 arrays travel between ranks. Pure.
#pragma once

#include <cstddef>

namespace weir::shard {

/// int8 and float8 travel by the collectives of weir/quantized.h, in host memory only.
enum class Precision { float32, bfloat16, int8, float8 };

/// The name on the command line: "fp32", "bf16", "int8" or "fp8".
const char* name_of(Precision precision);

inline bool is_quantized(Precision precision) {
  return precision == Precision::int8 || precision == Precision::float8;
}
/// The format of weir/quantized.h. REQUIRES: is_quantized().
int quantized_format(Precision precision);
/// Bytes of `count` elements on their way from a rank to another one.
size_t wire_bytes(Precision precision, size_t count);

}  // namespace weir::shard
