// SPDX-License-Identifier: Apache-2.0

#include "bench/perf/types.h"

namespace weir::perf {
namespace {

constexpr TypeInfo kTypes[] = {
    {"int8", ncclInt8, 1, 7},         {"uint8", ncclUint8, 1, 8},       {"int32", ncclInt32, 4, 31},
    {"uint32", ncclUint32, 4, 32},    {"int64", ncclInt64, 8, 63},      {"uint64", ncclUint64, 8, 64},
    {"half", ncclFloat16, 2, 11},     {"float", ncclFloat32, 4, 24},    {"double", ncclFloat64, 8, 53},
    {"bfloat16", ncclBfloat16, 2, 8}, {"f8e4m3", ncclFloat8e4m3, 1, 4}, {"f8e5m2", ncclFloat8e5m2, 1, 3},
};

constexpr OpInfo kOps[] = {
    {"sum", Op::sum, ncclSum}, {"prod", Op::prod, ncclProd}, {"max", Op::max, ncclMax},
    {"min", Op::min, ncclMin}, {"avg", Op::avg, ncclAvg},    {"mulsum", Op::mulsum, ncclSum},
};

template <typename Row, size_t size>
std::optional<Row> find(const Row (&rows)[size], std::string_view name) {
  for (const Row& row : rows)
    if (name == row.name) return row;
  return std::nullopt;
}

}  // namespace

std::span<const TypeInfo> all_types() { return kTypes; }
std::optional<TypeInfo> find_type(std::string_view name) { return find(kTypes, name); }
std::span<const OpInfo> all_ops() { return kOps; }

}  // namespace weir::perf
