// SPDX-License-Identifier: Apache-2.0
/// What every file that defines functions of the C interface includes: the newest header of NCCL without a
/// toolkit, its functions visible from outside, and the way to publish one.
///
/// A function is defined under its p name; WEIR_WEAK_ALIAS(ncclX) beneath makes ncclX a weak alias of pncclX.
#pragma once

#ifndef WEIR_NO_CUDA
#define WEIR_NO_CUDA
#endif
#ifndef WEIR_NCCL_2_30
#define WEIR_NCCL_2_30
#endif
#pragma GCC visibility push(default)
#include "nccl.h"
#pragma GCC visibility pop

#include <cstring>

namespace weir::api {

/// The number behind an enum that came from C, where any number may come; C++ may not even look at one out of
/// range.
template <typename Enum>
inline int number(const Enum& value) {
  static_assert(sizeof(Enum) == sizeof(int));
  int result;
  std::memcpy(&result, &value, sizeof(result));
  return result;
}

}  // namespace weir::api

// An alias must stand in the file of its target and needs the target's name as text: only a macro does both.
#define WEIR_WEAK_ALIAS(name) extern "C" __attribute__((weak, alias("p" #name))) decltype(p##name) name
