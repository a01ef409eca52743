// SPDX-License-Identifier: Apache-2.0
/// The vector kernels behind reduce.h: one table per instruction set, filled from the same source.
///
/// A kernel works on bytes: any alignment, any whole number of elements, dst may equal a source exactly. Each
/// gives the bits of reduce_scalar.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "src/base/types.h"
#include "src/device/reduce.h"

namespace weir::device {

using FoldKernel = void (*)(uint8_t* dst, const uint8_t* const* src, int sources, size_t bytes);
using StreamKernel = void (*)(uint8_t* const* dst, int destinations, const uint8_t* const* src, int sources,
                              size_t bytes);
using ScaleKernel = void (*)(uint8_t* dst, const uint8_t* src, Scalar factor, size_t bytes);
using CopyKernel = void (*)(uint8_t* dst, const uint8_t* src, size_t bytes);

struct FoldKernels {
  FoldKernel pair = nullptr;         ///< exactly two sources
  FoldKernel many = nullptr;         ///< two or more
  StreamKernel streaming = nullptr;  ///< two or more; non-temporal stores, no dst may be a source
};

struct Kernels {
  std::string_view name;  ///< of the instruction set
  FoldKernels fold[kDataTypes][4];
  ScaleKernel scale[kDataTypes] = {};
  CopyKernel streaming_copy = nullptr;

  FoldKernels& at(DataType type, RedOp op) { return fold[static_cast<int>(type)][static_cast<int>(op)]; }
  const FoldKernels& at(DataType type, RedOp op) const {
    return fold[static_cast<int>(type)][static_cast<int>(op)];
  }
};

/// One table for each instruction set that this processor has and weir knows, best first. The last is the
/// scalar definitions by themselves; they also stand in where an instruction set lacks something. Every
/// pointer is set. Lives for ever.
std::span<const Kernels> supported_kernels();

}  // namespace weir::device
