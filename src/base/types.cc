// SPDX-License-Identifier: Apache-2.0

#include "src/base/types.h"

namespace weir {

std::string_view name(DataType type) {
  constexpr std::string_view kNames[kDataTypes] = {"int8",    "uint8",    "int32",      "uint32",
                                                   "int64",   "uint64",   "float16",    "float32",
                                                   "float64", "bfloat16", "float8e4m3", "float8e5m2"};
  return kNames[static_cast<int>(type)];
}

std::string_view name(RedOp op) {
  constexpr std::string_view kNames[] = {"sum", "prod", "max", "min"};
  return kNames[static_cast<int>(op)];
}

std::string_view name(Collective kind) {
  constexpr std::string_view kNames[kCollectives] = {"all_reduce", "reduce",         "broadcast",
                                                     "all_gather", "reduce_scatter", "all_to_all",
                                                     "gather",     "scatter",        "send_recv"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace weir
