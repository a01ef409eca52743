// SPDX-License-Identifier: Apache-2.0

#include "trainer/shard/precision.h"

#include <weir/quantized.h>

#include <cstdint>

namespace weir::shard {

const char* name_of(Precision precision) {
  switch (precision) {
    case Precision::float32: return "fp32";
    case Precision::bfloat16: return "bf16";
    case Precision::int8: return "int8";
    case Precision::float8: return "fp8";
  }
  return "";
}

int quantized_format(Precision precision) {
  return precision == Precision::int8 ? weirQuantizedInt8 : weirQuantizedFloat8;
}

size_t wire_bytes(Precision precision, size_t count) {
  if (is_quantized(precision)) return weirQuantizedBytes(count, quantized_format(precision));
  return count * (precision == Precision::bfloat16 ? sizeof(uint16_t) : sizeof(float));
}

}  // namespace weir::shard
