// SPDX-License-Identifier: Apache-2.0
/// Element types and operations: command-line names, NCCL's numbers, and precision.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "bench/perf/small_float.h"

namespace weir::perf {

struct TypeInfo {
  const char* name;
  ncclDataType_t type;
  size_t size;    ///< size of an element
  int precision;  ///< all integers from -2^precision (0 if unsigned) to 2^precision - 1 are exact
};

/// All types, in the order of -d all.
std::span<const TypeInfo> all_types();
std::optional<TypeInfo> find_type(std::string_view name);

enum class Op : uint8_t { sum, prod, max, min, avg, mulsum };

struct OpInfo {
  const char* name;
  Op op;
  ncclRedOp_t builtin;  ///< none for mulsum, which is created for each call
};

/// All operations, in the order of -o all.
std::span<const OpInfo> all_ops();

/// Calls f(std::type_identity<T>()) with the C++ type that has the layout of `type`.
template <typename F>
decltype(auto) with_type(ncclDataType_t type, F&& f) {
  switch (type) {
    case ncclInt8: return f(std::type_identity<int8_t>());
    case ncclUint8: return f(std::type_identity<uint8_t>());
    case ncclInt32: return f(std::type_identity<int32_t>());
    case ncclUint32: return f(std::type_identity<uint32_t>());
    case ncclInt64: return f(std::type_identity<int64_t>());
    case ncclUint64: return f(std::type_identity<uint64_t>());
    case ncclFloat16: return f(std::type_identity<Half>());
    case ncclFloat64: return f(std::type_identity<double>());
    case ncclBfloat16: return f(std::type_identity<BFloat16>());
    case ncclFloat8e4m3: return f(std::type_identity<Float8E4M3>());
    case ncclFloat8e5m2: return f(std::type_identity<Float8E5M2>());
    default: return f(std::type_identity<float>());
  }
}

}  // namespace weir::perf
