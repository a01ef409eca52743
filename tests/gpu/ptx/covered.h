// SPDX-License-Identifier: Apache-2.0
/// What a library of translated kernels notes of the code that ran, and its report.
/// Tests: tests/gpu/ptx/translate_test.py
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/gpu/ptx/control.h"

namespace weir::ptx {

/// A kernel in pieces of instructions that are executed one after the other.
struct Covered {
  const char* name;
  const bool* ran;        ///< by piece
  const uint32_t* sizes;  ///< instructions of each piece
  size_t pieces;
};

template <size_t kKernels>
uint32_t list_coverage(const Covered (&kernels)[kKernels], Coverage* list, uint32_t most) {
  for (uint32_t i = 0; i < kKernels && i < most; ++i) {
    const Covered& kernel = kernels[i];
    list[i] = {kernel.name, 0, 0};
    for (size_t piece = 0; piece < kernel.pieces; ++piece) {
      list[i].instructions += kernel.sizes[piece];
      if (kernel.ran[piece]) list[i].executed += kernel.sizes[piece];
    }
  }
  return kKernels;
}

}  // namespace weir::ptx
