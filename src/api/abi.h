// SPDX-License-Identifier: Apache-2.0
/// Included by every file that defines functions of the C interface: NCCL's header, without a
/// toolkit and with its functions exported, and the macro that publishes a function.
///
/// A function is defined under its p name; WEIR_WEAK_ALIAS(ncclX) beneath makes ncclX a weak alias of pncclX.
/// Tests: tests/api/exports_test.py
#pragma once

#ifndef WEIR_NO_CUDA
#define WEIR_NO_CUDA
#endif
#pragma GCC visibility push(default)
#include "nccl.h"
#pragma GCC visibility pop

#include <cstring>

namespace weir::api {

/// The number of an enum value from a C caller, which may be out of range; C++ must not read such a value as
/// the enum.
template <typename Enum>
inline int number(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(int));
  int result;
  std::memcpy(&result, &value, sizeof(result));
  return result;
}

}  // namespace weir::api

// An alias must be in the file of its target and needs the target's name as text: this requires a macro.
#define WEIR_WEAK_ALIAS(name) extern "C" __attribute__((weak, alias("p" #name))) decltype(p##name) name
